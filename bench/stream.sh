#!/usr/bin/env bash
# Times the stream path beside wc and jq: 2,000,000 realistic keys, commands
# interleaved in each of five rounds, medians, and their ratios. Then the cold
# start, beside a Go program that prints one line.
#
#   bench/stream.sh [KEYS]
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/timing.sh
n=${1:-2000000}
rounds=5
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/emqctl" ./cmd/emqctl
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/oneline" ./bench/oneline
go run ./bench/keys -n "$n" >"$dir/keys"
go run ./bench/keys -n "$n" -ids >"$dir/ids"

names=() inputs=() commands=()
add() { names+=("$1") inputs+=("$2") commands+=("$3"); }
add 'wc -l'              keys 'wc -l'
add 'slot -o tsv'        keys "$dir/emqctl slot -o tsv"
add 'decode-key -o tsv'  keys "$dir/emqctl decode-key -o tsv"
add 'decode-key -o json' keys "$dir/emqctl decode-key -o json"
add 'jq keys'            keys "jq -Rc {key:.}"
add 'decode-id -o json'  ids  "$dir/emqctl decode-id -o json"
add 'jq ids'             ids  "jq -Rc {key:.}"

for ((r = 0; r <= rounds; r++)); do
	for i in "${!names[@]}"; do
		ms=$(time_ms ${commands[i]} <"$dir/${inputs[i]}")
		((r == 0)) || echo "$ms" >>"$dir/t$i" # the first round warms up
	done
done
for ((r = 0; r < 40; r++)); do
	time_ms "$dir/oneline" >>"$dir/start-peer"
	time_ms "$dir/emqctl" slot x >>"$dir/start"
done

declare -A t
echo "$n keys, $(stat -c %s "$dir/keys") bytes; $(nproc) cores; medians of $rounds interleaved rounds"
for i in "${!names[@]}"; do
	t[${names[i]}]=$(median "$dir/t$i")
	printf '  %-20s %9.1f ms\n' "${names[i]}" "${t[${names[i]}]}"
done
ratio() { awk -v a="$2" -v b="$3" -v what="$1" 'BEGIN { printf "  %-44s %6.1fx\n", what, a / b }'; }
echo ratios
ratio 'slot -o tsv / wc -l' "${t[slot -o tsv]}" "${t[wc -l]}"
ratio 'decode-key -o tsv / wc -l' "${t[decode-key -o tsv]}" "${t[wc -l]}"
ratio 'jq / decode-key -o json' "${t[jq keys]}" "${t[decode-key -o json]}"
ratio 'jq / decode-id -o json' "${t[jq ids]}" "${t[decode-id -o json]}"
ratio 'cold start: slot x / a program of one line' "$(median "$dir/start")" "$(median "$dir/start-peer")"
bytes=$("$dir/emqctl" decode-key -o json <"$dir/keys" | wc -c)
awk -v b="$bytes" -v ms="${t[decode-key -o json]}" 'BEGIN { printf "decode-key -o json writes %.2f GB/s\n", b / ms / 1e6 }'
for c in 'slot -o tsv' 'decode-key -o json' 'decode-key'; do
	if kb=$( { /usr/bin/time -f %M "$dir/emqctl" $c <"$dir/keys" >/dev/null; } 2>&1); then
		printf 'peak memory of %-20s %5.1f MiB\n' "$c" "$(awk -v k="$kb" 'BEGIN { print k / 1024 }')"
	fi
done
