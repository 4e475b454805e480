//! Products whose tiles clusters share (stream K), and the same with whole tiles.

use crate::bodies::TimedImage;

include!("names.rs");

/// The plain product, nt of bf16, each by a schedule of its own; empty where no GPU would run them.
pub const SHARED_IMAGES: &[TimedImage] = include!(concat!(env!("OUT_DIR"), "/shared_images.rs"));

/// Those of a name.
pub fn images(name: &str) -> impl Iterator<Item = &'static TimedImage> {
    SHARED_IMAGES.iter().filter(move |image| image.name == name)
}
