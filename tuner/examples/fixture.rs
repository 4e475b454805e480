//! tmp
#[path = "../tests/common/fixture.rs"]
mod fixture;
fn main() {
    use autokernel_codegen::{problem::Layout, shape::Shape};
    let d = std::path::PathBuf::from(std::env::args().nth(1).unwrap());
    std::fs::create_dir_all(&d).unwrap();
    let shapes = [fixture::cube(1024), fixture::cube(4096), fixture::cube(8192), Shape { m: 512, n: 4096, k: 2048 }, Shape { m: 64, n: 4096, k: 4096 }];
    fixture::recording("leaky_relu", Layout::Nt, &shapes).save(&d.join("a.json.gz")).unwrap();
    fixture::recording("identity", Layout::Nn, &shapes[1..3]).save(&d.join("b.json.gz")).unwrap();
}
