#!/usr/bin/env bash
# Sets up, builds, and does the main job once: replays recorded traces of real jobs and compares every address.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target quarry_cli
quarry=build/release/tools/quarry

# The recordings that the plain pytorch policy answers; the others need streams, pools or expandable segments.
jobs=(gpt2_fp32 gpt2_bf16 gpt2_checkpoint gpt2_lora resnet varlen varlen_roundup varlen_max_split kv_cache mlp_adam
  optimizer_midrun varlen_gc oom_growing_batch)
traces=()
for job in "${jobs[@]}"; do traces+=("tests/data/traces/$job.pickle.gz"); done

echo
echo "\$ quarry info"
"$quarry" info
echo
echo "\$ quarry replay FILE...     (${#traces[@]} recordings of tests/data/traces; every address is compared)"
"$quarry" replay "${traces[@]}"
