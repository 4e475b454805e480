#!/bin/sh
# A stand-in for nvcc that does what the name it is called by says, and notes each run beside that name.
folder=$(dirname "$0")
echo run >>"$folder/runs"
if [ "$1" = --version ]; then
  echo 'Cuda compilation tools, release 13.0, V13.0.1'
  exit 0
fi

symbol=$(sed -n 's/^\([a-z0-9_]*\)(const __grid_constant__ .*/\1/p' kernel.cu)
report() {
  cat >&2 <<EOF
ptxas info    : Compiling entry function '$symbol' for 'sm_80'
ptxas info    : Function properties for $symbol
    0 bytes stack frame, $1 bytes spill stores, $1 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers
EOF
}

case $(basename "$0") in
works) report 0 && echo ptx >kernel.ptx && echo cubin >kernel.cubin ;;
spills) report 8 && echo ptx >kernel.ptx && echo cubin >kernel.cubin ;;
reports_nothing) echo ptx >kernel.ptx && echo cubin >kernel.cubin ;;
fails) echo 'error: out of registers and patience' >&2 && exit 1 ;;
lacks_a_host_compiler) echo 'sh: 1: g++: not found' >&2 && exit 1 ;;
knows_no_arch) echo "nvcc fatal   : Unsupported gpu architecture 'compute_80'" >&2 && exit 1 ;;
fails_silently) exit 2 ;;
hangs) (sleep 1 && touch "$folder/survived") & sleep 60 ;;
esac
