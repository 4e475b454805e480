//! What is asked of products alone by those who hold problems of any operation.

use autokernel_core::Dtype;

use super::{Class, Problem};
use crate::epilogue::Epilogue;
use crate::matmul::model::Traits;
use crate::matmul::problem::Layout;
use crate::matmul::{self, Schedule};

impl Problem {
    /// A matrix product of `input` elements, giving `input` elements.
    pub fn matmul(input: Dtype, layout: Layout, epilogue: Epilogue) -> Self {
        matmul::Problem::new(input, layout, epilogue).into()
    }

    /// The product, if it is one.
    pub fn as_product(&self) -> Option<&matmul::Problem> {
        match self {
            Problem::Matmul(product) => Some(product),
            _ => None,
        }
    }
}

impl Traits {
    /// Those of the image of a schedule for a class of any operation; none of what is no product.
    pub fn of(class: &Class, schedule: &crate::Schedule) -> Option<Self> {
        match class {
            Class::Matmul(class) => Some(Traits::new(class, &Schedule::try_from(schedule).ok()?)),
            _ => None,
        }
    }
}
