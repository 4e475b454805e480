#!/usr/bin/env bash
# Libraries to link `--features cuda` against on a machine that has neither a driver nor cuBLAS: empty functions under the names that
# cudarc declares. What is built so runs where the real libraries of the same CUDA generation are found first.
#
#   examples/candle-llama/stubs.sh FOLDER
#   PATH=$PWD/.toolchain/site/nvidia/cu13/bin:$PATH CUDA_COMPUTE_CAP=90 LIBRARY_PATH=FOLDER \
#     cargo build --release -p candle-llama --features cuda
set -euo pipefail
folder=${1:?name a folder for the libraries}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
declared=$(cargo metadata --format-version 1 --locked | tr ',' '\n' |
  sed -n 's|.*"manifest_path":"\(.*/cudarc-[^/"]*\)/Cargo.toml".*|\1|p')
[ -d "$declared/src" ] || { echo "cudarc's sources are not here; run cargo fetch" >&2; exit 1; }
mkdir -p "$folder"

# module of cudarc, library, its name at run time
while read -r module library name; do
  grep -hoE 'fn (cu|cublas|curand|nvrtc)[A-Za-z0-9_]+' "$declared/src/$module/sys/mod.rs" | awk '{ print $2 }' | sort -u |
    awk '{ print "void " $1 "(void) {}" }' | cc -x c -shared -fPIC -w -fno-builtin -Wl,-soname,"$name" -o "$folder/$name" -
  ln -sf "$name" "$folder/lib$library.so"
done <<'LIBRARIES'
driver cuda libcuda.so.1
cublas cublas libcublas.so.13
cublaslt cublasLt libcublasLt.so.13
curand curand libcurand.so.10
nvrtc nvrtc libnvrtc.so.13
LIBRARIES

# The toolkit of `cargo xtask setup` has this one, without the name that a linker looks for.
runtime=$(find -L .toolchain /usr/local/cuda -name 'libcudart.so.1[0-9]' 2>/dev/null | head -n 1 || true)
[ -n "$runtime" ] || { echo "there is no libcudart; run cargo xtask setup" >&2; exit 1; }
ln -sf "$(realpath "$runtime")" "$folder/libcudart.so"
ls "$folder"
