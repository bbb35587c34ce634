#!/bin/sh
# Builds the examples and the tool and runs the main jobs, from wherever it is called: lowers two real programs for
# a small kernel library, others for integer kernels, for channels last, for oneDNN and to delegates, shows what
# changed, measures it and saves the results.
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

# What each of these measured goes into one table.
export EDGEFX_EXAMPLE_ROWS="$out/rows.txt"
rm -f "$EDGEFX_EXAMPLE_ROWS"
data=examples/data

echo
echo "cortex_m: int8 networks in integer operators"
"$out/cortex_m" \
  "$data/mlp_int8.pt2" "$data/mlp_int8.expected.pt" "$out/mlp_int8.cortex_m.pt2" \
  "$data/mobilenet_v2_slim_int8.pt2" "$data/mobilenet_v2_slim_int8.expected.pt" \
  "$out/mobilenet_v2_slim_int8.cortex_m.pt2"

echo
echo "explicit_layout: channels last, said by permutes"
"$out/explicit_layout" "$data/transposed_convolution.txt" "$out" \
  "$data/resnet18_slim.pt2" "$data/resnet18_slim.expected.pt" \
  "$data/memory_format.pt2" "$data/memory_format.expected.pt"

if [ -x "$out/onednn" ]; then
  echo
  echo "onednn: packed weights and fused operators on oneDNN"
  "$out/onednn" "$data/transposed_convolution.txt" "$out" \
    "$data/resnet18_slim.pt2" "$data/resnet18_slim.expected.pt" \
    "$data/tiny_vit.pt2" "$data/tiny_vit.expected.pt"

  echo
  echo "kv_cache: control flow and state in delegates, the rest on oneDNN"
  "$out/kv_cache" "$data/kv_cache_cond.pt2" "$out" \
    "$data/seq2seq_cross_attention.pt2" "$data/seq2seq_cross_attention.expected.pt"
  for lowered in "$out/kv_cache_whole.pt2" "$out/kv_cache_branches.pt2"; do
    "$out/check_lowering" "$data/kv_cache_cond.pt2" "$lowered"
  done
fi

echo
echo "custom_library: a project of its own, built against the installed edgefx"
prefix="$root/build/release/installed"
project="$out/custom_library_project"
cmake --install build/release --prefix "$prefix" >/dev/null
mkdir -p "$project"
cp -Rp examples/custom_library/. "$project"
[ -f "$project/build/build.ninja" ] ||
  cmake -S "$project" -B "$project/build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$project/build"
ctest --test-dir "$project/build" --output-on-failure
"$project/build/custom_library" "$data/resnet18_slim.pt2" "$out/resnet18_slim.custom.pt2"

if [ -f "$EDGEFX_EXAMPLE_ROWS" ]; then
  echo
  cat "$EDGEFX_EXAMPLE_ROWS"
fi
