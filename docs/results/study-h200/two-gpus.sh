#!/bin/bash
# One study of the same trials by two workers, a GPU each, and by one; a Postgres of its own on the same host.
#   cargo build --release -p tuner --features study; TUNER=target/release/tuner POSTGRES=/usr/lib/postgresql/15/bin two-gpus.sh
# As root it runs Postgres by the account `nobody`, as Postgres refuses to be root's.
set -u
TUNER=$(realpath "${TUNER:-target/release/tuner}"); B=${POSTGRES:-/usr/lib/postgresql/15/bin}; N=${N:-100}
W=$(mktemp -d); chmod 755 "$W"; D=$W/data; mkdir "$D"; echo secret > "$W/password"
as() { if [ "$(id -u)" = 0 ]; then chown -R nobody "$D"; (cd "$W" && setpriv --reuid nobody --clear-groups "$@"); else "$@"; fi; }
as "$B/initdb" -U ann --auth=scram-sha-256 --encoding=UTF8 --locale=C -D "$D" --pwfile "$W/password" > "$W/initdb.txt" || exit 1
printf "port = 54329\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '%s'\n" "$D" >> "$D/postgresql.conf"
as "$B/pg_ctl" -D "$D" -l "$D/log" -w start > /dev/null || exit 1
trap 'as "$B/pg_ctl" -D "$D" -m immediate stop > /dev/null; rm -rf "$W"' EXIT
export STUDY=postgres://ann:secret@127.0.0.1:54329/postgres
q() { PGPASSWORD=secret "$B/psql" -h 127.0.0.1 -p 54329 -U ann -d postgres -Atc "$1"; }
"$TUNER" study create env:STUDY || exit 1

# The same trials each time, from an empty study and with an empty cache of compiled kernels.
measure() { # name GPU…
  name=$1; shift; q "truncate autokernel.work, autokernel.late" > /dev/null
  "$TUNER" --problem matmul_leaky_relu_bf16_bf16_nt --shape 4096x4096x4096 --strategy random --seed 7 --evaluations "$N" --generations 1 \
    --study env:STUDY --out "$W/out-$name" > "$W/search-$name.txt" 2>&1 & search=$!
  until [ "$(q 'select count(*) from autokernel.work')" -ge "$N" ]; do sleep 0.05; kill -0 $search || exit 1; done
  workers=()
  for gpu in "$@"; do
    CUDA_VISIBLE_DEVICES=$gpu AUTOKERNEL_CACHE_DIR=$W/cache-$name "$TUNER" work --study env:STUDY > "$W/work-$name-$gpu.txt" 2>&1 & workers+=($!)
  done
  while [ "$(q "select count(*) from autokernel.work where kind = 'trial' and result is null")" != 0 ]; do sleep 0.1; done
  # From the first result to the last: how long a process takes to begin is not in it.
  q "select '$name', count(*), round(extract(epoch from max(recorded_at) - min(recorded_at))::numeric, 3),
     round(((count(*) - 1) / extract(epoch from max(recorded_at) - min(recorded_at)))::numeric, 3)
     from autokernel.work where kind = 'trial' and result is not null"
  wait $search; kill -INT "${workers[@]}"; wait
}
nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader
echo "workers|trials|seconds|trials a second"
measure two 0 1
measure one 0
