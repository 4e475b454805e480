//! Products whose tiles clusters share (stream K), the same with whole tiles, and those that split K as a launch says.

mod product;

use autokernel::Device;

use crate::bodies::TimedImage;
use crate::rows::GPU;
use crate::skip;

pub use product::Product;

include!("names.rs");

/// The plain product, nt of bf16, each by a schedule of its own; empty where no GPU would run them.
pub const SHARED_IMAGES: &[TimedImage] = include!(concat!(env!("OUT_DIR"), "/shared_images.rs"));

/// Those of a name.
pub fn images(name: &str) -> impl Iterator<Item = &'static TimedImage> {
    SHARED_IMAGES.iter().filter(move |image| image.name == name)
}

/// The GPU, if it runs the images of that name.
pub fn gpu(test: &str, name: &str) -> Option<Device> {
    let device = skip::gpu(test)?;
    let capability = device.info().expect("a GPU tells what it is").compute_capability;
    if images(name).next().is_none() || capability != GPU {
        skip::log(test, &format!("{} images for {GPU}, on {capability}", images(name).count()));
        return None;
    }
    Some(device)
}
