#!/usr/bin/env bash
# Times `emqctl lint` beside luacheck over the verbs' scripts: commands
# interleaved in each of eleven rounds, medians, and their ratio.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/timing.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/emqctl" ./cmd/emqctl

for ((r = 0; r < 11; r++)); do
	time_ms "$dir/emqctl" lint scripts >>"$dir/ours"
	time_ms luacheck -q --std lua51 --globals redis cjson bit cmsgpack -- scripts >>"$dir/peer" || true
done
ours=$(median "$dir/ours") peer=$(median "$dir/peer")
echo "$(ls scripts/*.lua | wc -l) scripts: emqctl lint $ours ms, luacheck $peer ms, $(awk -v a="$peer" -v b="$ours" 'BEGIN { printf "%.1f", a / b }') times faster"
go test -run xxx -bench Verbs ./internal/trace | grep ^Benchmark
