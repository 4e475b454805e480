//! Launches that look at offsets, counts and indices first: what they say of numbers that are out of order or range. The mode is the
//! process's, so that these tests have one of their own.

use autokernel::{Batch, Device, Error, Index, Matrix, bf16, f16, i4x2};
use batch_tests::declared::{gradients, shared_slots, swiglu};
use batch_tests::declared_types::packed_experts;

fn zeros(device: &Device, rows: usize, columns: usize) -> Matrix<bf16> {
    Matrix::zeros(device, rows, columns).unwrap()
}

/// What a launch says, in words, of numbers that it refuses.
fn refused(result: autokernel::Result<()>) -> (String, usize, i32, [i64; 2]) {
    match result.unwrap_err() {
        Error::Number { operand, at, value, least, most, .. } => (operand, at, value, [least, most]),
        other => panic!("another error: {other}"),
    }
}

#[test]
fn a_checked_launch_names_the_first_number_that_is_out_of_order_or_range() {
    autokernel::set_checked(true);
    let device = Device::cpu();
    let (x, w) = (zeros(&device, 9, 8), Batch::<bf16>::zeros(&device, [3, 5, 8]).unwrap());
    let mut out = zeros(&device, 9, 5);
    let mut rows = |offsets: &[i32]| swiglu(&x, &w, &w, &Index::from_slice(&device, offsets).unwrap(), &mut out);
    rows(&[0, 4, 4, 9]).unwrap();
    rows(&[2, 3, 3, 3]).unwrap();
    assert_eq!(refused(rows(&[0, 4, 3, 9])), ("offsets".to_owned(), 2, 3, [4, 9]));
    assert_eq!(refused(rows(&[-1, 4, 4, 9])), ("offsets".to_owned(), 0, -1, [0, 9]));
    let text = rows(&[0, 4, 4, 10]).unwrap_err().to_string();
    assert!(text.contains("`swiglu`: number 3 of `offsets` is 10, and may be 4 to 9"), "{text}");

    let (dy, before) = (zeros(&device, 9, 4), Batch::<f32>::zeros(&device, [2, 8, 4]).unwrap());
    let mut dw = Batch::<f32>::zeros(&device, [2, 8, 4]).unwrap();
    let offsets = Index::from_slice(&device, &[0, 12, 9]).unwrap();
    assert_eq!(refused(gradients(&x, &dy, &offsets, &before, &mut dw)), ("offsets".to_owned(), 1, 12, [0, 9]));

    let of_slots = |rows, columns| Matrix::<f16>::zeros(&device, rows, columns).unwrap();
    let (x, w) = (Batch::<f16>::zeros(&device, [2, 8, 6]).unwrap(), of_slots(8, 4));
    let mut out = Batch::<f16>::zeros(&device, [2, 6, 4]).unwrap();
    let mut slots = |counts: &[i32]| shared_slots(&x, &w, &w, &Index::from_slice(&device, counts).unwrap(), &mut out);
    slots(&[6, 0]).unwrap();
    assert_eq!(refused(slots(&[6, 7])), ("counts".to_owned(), 1, 7, [0, 6]));
}

#[test]
fn a_checked_launch_names_the_first_zero_point_that_4_bits_do_not_hold() {
    autokernel::set_checked(true);
    let device = Device::cpu();
    let x = zeros(&device, 2, 64);
    let weights = || Batch::<i4x2>::zeros(&device, [3, 5, 32]).unwrap();
    let (gate, up, scales) = (weights(), weights(), Batch::<f16>::zeros(&device, [3, 1, 5]).unwrap());
    let offsets = Index::from_slice(&device, &[0, 1, 1, 2]).unwrap();
    let (mut out, none) = (zeros(&device, 2, 5), Batch::<i8>::zeros(&device, [3, 1, 5]).unwrap());
    let mut launch = |numbers: &[i8]| {
        let shifts = Batch::from_slice(&device, numbers, [3, 1, 5]).unwrap();
        packed_experts(&x, &gate, &scales, &none, &up, &scales, &shifts, &offsets, &mut out)
    };
    let mut numbers = [-8, 8, 0, 7, 1].repeat(3);
    launch(&numbers).unwrap();
    numbers[11] = 9;
    assert_eq!(refused(launch(&numbers)), ("zeros_up".to_owned(), 11, 9, [-8, 8]));
}
