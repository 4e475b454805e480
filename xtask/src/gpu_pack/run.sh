#!/bin/sh
# Runs what `cargo xtask gpu-pack` packed, on a machine with an NVIDIA GPU. Needs the driver; no Rust,
# no network. `tune` also needs nvcc, and `sanitize` compute-sanitizer, from a CUDA toolkit.
set -u

usage() {
  cat <<'USAGE'
usage: run.sh COMMAND [ARGUMENT...]

  test [FILTER...]   the GPU tests; arguments go to each test program
  sanitize           the tests with `sanitize` in their names, under compute-sanitizer
  bench [FILTER...]  the benches, against cuBLAS; arguments go to each bench
  tune [OPTION...]   the tuner; options go to it
  all                test, sanitize, bench and tune, one after the other

environment:
  AUTOKERNEL_OUT             folder for logs and results (default: out beside this script)
  AUTOKERNEL_TIMEOUT         seconds that one program may run (default: 1200)
  AUTOKERNEL_SANITIZER_TOOLS compute-sanitizer tools (default: "memcheck racecheck")
USAGE
}

pack=$(cd "$(dirname "$0")" && pwd) || exit 1
out=${AUTOKERNEL_OUT:-$pack/out}
mkdir -p "$out" || { echo "run.sh: cannot create $out: name a writable folder in AUTOKERNEL_OUT" >&2; exit 1; }
out=$(cd "$out" && pwd) || exit 1
limit=${AUTOKERNEL_TIMEOUT:-1200}

# The unpacked folder stands in for the workspace root.
AUTOKERNEL_ROOT=$pack
AUTOKERNEL_SKIP_LOG=$out/skipped.log
CRITERION_HOME=$out/criterion
export AUTOKERNEL_ROOT AUTOKERNEL_SKIP_LOG CRITERION_HOME
cd "$pack" || exit 1

fail() {
  echo "run.sh: $1" >&2
  exit 1
}

# Runs a command under the time limit, its output both here and in the file $1; returns its status.
logged() {
  log=$1
  shift
  if command -v timeout >/dev/null 2>&1; then set -- timeout "$limit" "$@"; fi
  { "$@" 2>&1; echo $? >"$log.status"; } | tee "$log"
  status=$(cat "$log.status")
  rm -f "$log.status"
  if [ "$status" = 124 ]; then echo "run.sh: stopped after $limit s (AUTOKERNEL_TIMEOUT)"; fi
  return "$status"
}

# Prints the machine, so that a saved log says where it was made.
machine() {
  cat PROVENANCE.txt 2>/dev/null
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null ||
    echo "nvidia-smi does not start: without a driver every GPU test is skipped"
  nvcc=${AUTOKERNEL_NVCC:-nvcc}
  "$nvcc" --version 2>/dev/null | grep release || echo "no nvcc on PATH and none in AUTOKERNEL_NVCC"
}

# The sum of the numbers before "$1;" in the harness's result lines of the test logs.
count() {
  cat "$out"/test-*.log | sed -n "s/^test result: .*[ .]\([0-9][0-9]*\) $1;.*/\1/p" | awk '{ sum += $1 } END { print sum + 0 }'
}

run_tests() {
  set_of tests
  rm -f "$out"/test-*.log
  : >"$AUTOKERNEL_SKIP_LOG"
  crashed=0
  for program in tests/*; do
    echo "==> $program"
    log=$out/test-$(basename "$program").log
    if logged "$log" "$program" "$@"; then continue; fi
    echo "FAILED: $program"
    # A program that died before it could report counts as one failed test.
    grep -q '^test result: FAILED' "$log" || crashed=$((crashed + 1))
  done
  sort "$AUTOKERNEL_SKIP_LOG"
  skipped=$(grep -c . "$AUTOKERNEL_SKIP_LOG")
  passed=$(($(count passed) - skipped))
  failed=$(($(count failed) + crashed))
  echo "$passed passed, $failed failed, $((skipped + $(count ignored))) skipped"
  if [ "$passed" -le 0 ]; then fail "no test ran to its end: check the driver with nvidia-smi"; fi
  [ "$failed" = 0 ]
}

run_sanitizer() {
  set_of tests
  sanitizer=$(find_sanitizer) || fail "no compute-sanitizer: install a CUDA toolkit and add its bin to PATH"
  : >"$AUTOKERNEL_SKIP_LOG"
  checked=0
  dirty=0
  for program in tests/*; do
    "$program" sanitize --list 2>/dev/null | grep -q ': test$' || continue
    for tool in ${AUTOKERNEL_SANITIZER_TOOLS:-memcheck racecheck}; do
      echo "==> $tool $program"
      checked=$((checked + 1))
      logged "$out/$tool-$(basename "$program").log" \
        "$sanitizer" --tool "$tool" --error-exitcode 99 "$program" sanitize --test-threads=1 ||
        { dirty=$((dirty + 1)); echo "FAILED: $tool $program"; }
    done
  done
  cat "$AUTOKERNEL_SKIP_LOG"
  echo "$((checked - dirty)) of $checked sanitizer runs clean"
  if [ "$checked" = 0 ]; then fail "no test has \`sanitize\` in its name, so nothing was checked"; fi
  if [ -s "$AUTOKERNEL_SKIP_LOG" ]; then fail "the tests above were skipped, so they were not checked"; fi
  [ "$dirty" = 0 ]
}

find_sanitizer() {
  command -v compute-sanitizer && return
  for dir in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [ -x "$dir/bin/compute-sanitizer" ]; then echo "$dir/bin/compute-sanitizer"; return; fi
  done
  return 1
}

run_benches() {
  set_of benches
  failures=0
  for program in benches/*; do
    echo "==> $program"
    # Without --bench, criterion only tests that each bench starts.
    logged "$out/bench-$(basename "$program").log" "$program" --bench "$@" ||
      { failures=$((failures + 1)); echo "FAILED: $program"; }
  done
  [ "$failures" = 0 ]
}

run_tuner() {
  [ -x bin/tuner ] || fail "this pack holds no tuner"
  logged "$out/tune.log" bin/tuner "$@"
}

set_of() {
  for program in "$1"/*; do
    if [ -x "$program" ]; then return; fi
  done
  fail "this pack holds no $1"
}

run_all() {
  failures=
  for command in test sanitize bench tune; do
    echo "==== $command"
    "$pack/run.sh" "$command" || failures="$failures $command"
  done
  if [ -n "$failures" ]; then fail "failed:$failures"; fi
  echo "all passed; logs are in $out"
}

command=${1:-help}
if [ $# -gt 0 ]; then shift; fi
case $command in
  test) machine; run_tests "$@" ;;
  sanitize) machine; run_sanitizer ;;
  bench) machine; run_benches "$@" ;;
  tune) machine; run_tuner "$@" ;;
  all) run_all ;;
  help | -h | --help) usage ;;
  *) usage >&2; fail "unknown command: $command" ;;
esac
