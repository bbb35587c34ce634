#!/bin/sh
# Builds the examples and the tool and runs the main jobs, from wherever it is called: lowers two real programs for
# a small kernel library and one to delegates, shows what changed, and saves the results.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"

sh cmake/install_packages.sh
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build --preset release --parallel "$(nproc)" --target edgefx_examples

out=build/release/examples
"$out/ten_lines" examples/data/linear_atan_relu.pt2 "$out/ten_lines.pt2"
"$out/tiny_library" \
  examples/data/linear_atan_relu.pt2 "$out/linear_atan_relu.tiny.pt2" \
  examples/data/tiny_vit.pt2 "$out/tiny_vit.tiny.pt2"

echo
echo "the same by the command line: edgefx lower --plugin libtiny_library.so --op-backend tiny"
build/release/edgefx lower examples/data/linear_atan_relu.pt2 -o "$out/linear_atan_relu.tool.pt2" \
  --plugin "$out/libtiny_library.so" --op-backend tiny
build/release/edgefx print "$out/linear_atan_relu.tool.pt2"

echo
echo "what it computes, beside the original: edgefx compare --plugin libtiny_library.so"
build/release/edgefx compare examples/data/linear_atan_relu.pt2 "$out/linear_atan_relu.tool.pt2" \
  --plugin "$out/libtiny_library.so"

echo
echo "delegates: a model with a key-value cache, lowered with its control flow and inside of it"
"$out/delegate_kv_cache" examples/data/kv_cache_cond.pt2 "$out"
for lowered in "$out/kv_cache_whole.pt2" "$out/kv_cache_branches.pt2"; do
  "$out/check_lowering" examples/data/kv_cache_cond.pt2 "$lowered"
done
