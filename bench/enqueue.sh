#!/usr/bin/env bash
# Times a bulk load beside valkey-cli: the same 300,000 jobs, as prebuilt
# EVALSHA commands through `valkey-cli --pipe`, and as ndjson through `emqctl
# enqueue --ndjson -o json`, which writes a record a job; five interleaved
# pairs on a Valkey of its own, medians, and their ratio.
#
#   bench/enqueue.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/timing.sh
n=${1:-300000}
port=${PORT:-7391}
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT

CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/emqctl" ./cmd/emqctl
"$dir/emqctl" mint-id -n "$n" --node 3 |
	awk '{ printf "{\"id\":\"%s\",\"payload\":\"{\\\"symbol\\\":\\\"EMQ\\\",\\\"n\\\":%d}\"}\n", $1, NR }' >"$dir/jobs"
"$dir/emqctl" enqueue quotes --ndjson --print resp <"$dir/jobs" >"$dir/resp"

valkey-server --port "$port" --bind 127.0.0.1 --dir "$dir" --save '' --appendonly no >/dev/null &
server=$!
until valkey-cli -p "$port" ping >/dev/null 2>&1; do sleep 0.1; done

used() { valkey-cli -p "$port" info cpu | tr -d '\r' | awk -F: '/^used_cpu_(sys|user):/ { s += $2 } END { print s }'; }
# timed NAME COMMAND...: its time in milliseconds, and the server's CPU time
timed() {
	local name=$1 before
	shift
	valkey-cli -p "$port" flushall >/dev/null
	valkey-cli -p "$port" -x script load <scripts/enqueue.lua >/dev/null
	before=$(used)
	time_ms "$@" >>"$dir/$name"
	awk -v a="$(used)" -v b="$before" 'BEGIN { printf "%.0f\n", 1000 * (a - b) }' >>"$dir/$name.server"
	[ "$(valkey-cli -p "$port" zcard 'emq:{quotes}:pending')" = "$n" ] || { echo "$name lost jobs" >&2; exit 1; }
}
pipe() { valkey-cli -p "$port" --pipe <"$dir/resp" >/dev/null; }
ours() { "$dir/emqctl" enqueue quotes --ndjson -o json --url "127.0.0.1:$port" <"$dir/jobs" >"$dir/records"; }

for ((r = 0; r < 5; r++)); do
	timed pipe pipe
	timed ours ours
done
a=$(median "$dir/pipe") b=$(median "$dir/ours")
echo "$n jobs, medians of five pairs, in milliseconds, with the server's CPU time"
echo "  valkey-cli --pipe         $a  $(median "$dir/pipe.server")"
echo "  emqctl enqueue --ndjson   $b  $(median "$dir/ours.server")"
awk -v a="$a" -v b="$b" 'BEGIN { printf "  ratio                     %.2f\n", b / a }'
