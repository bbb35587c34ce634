#!/bin/sh
# Prints how many instructions edgefx executes for a node, or a byte of text, as callgrind counts them. Each work is done
# twice and the second time counts, so that neither preparations nor first uses do. With a fourth argument, callgrind's
# files of those second times are left in that folder as WORK.callgrind, for callgrind_annotate.
#
#   tests/bench/count_instructions.sh build/bench/tests/bench/edgefx_bench [nodes] [work,work...] [folder]
set -eu
program=$1
nodes=${2:-10000}
works=${3:-clone,lint,signature,check,print,save,load,dom,destroy,identity,retarget,rewrite,regions,chain,peercopy,peerlint,peerprint}
kept=${4:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Starting LibTorch takes callgrind a minute; all works share it.
valgrind --tool=callgrind --toggle-collect=edgefxBenchWork --dump-after=edgefxBenchWork --compress-strings=no \
  --callgrind-out-file="$folder/counts" "$program" --only "$works" --nodes "$nodes" --repeat 2 \
  > "$folder/said" 2> "$folder/log" || {
  cat "$folder/log" >&2
  exit 1
}

printf '%-10s %10s %12s %12s\n' work nodes Ir/node Ir/byte
dump=0
sed -n 's/^work=\([a-z]*\) .*bytes=/\1 /p' "$folder/said" | while read -r work bytes; do
  dump=$((dump + 2))
  count=$(sed -n 's/^totals: //p' "$folder/counts.$dump")
  awk -v work="$work" -v nodes="$nodes" -v bytes="$bytes" -v count="$count" 'BEGIN {
    perByte = bytes > 0 ? sprintf("%.2f", count / bytes) : ""
    printf "%-10s %10d %12.1f %12s\n", work, nodes, count / nodes, perByte
  }'
  if [ -n "$kept" ]; then cp "$folder/counts.$dump" "$kept/$work.callgrind"; fi
done
