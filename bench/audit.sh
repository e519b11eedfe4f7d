#!/usr/bin/env bash
# Times `emqctl audit` beside a bare walk through the keys by valkey-cli, over
# 1,000,000 jobs in 200 queues on a server of its own: interleaved rounds,
# medians and their ratio, peak memory, and what another client feels.
#
#   bench/audit.sh [JOBS [QUEUES]]
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/timing.sh
jobs=${1:-1000000} queues=${2:-200} rounds=3 port=${PORT:-7391}
dir=$(mktemp -d)
valkey-server --port "$port" --bind 127.0.0.1 --dir "$dir" --save '' --appendonly no >"$dir/log" &
server=$!
trap 'kill $server; wait $server 2>/dev/null || true; rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/emqctl" ./cmd/emqctl
go build -o "$dir/jobs" ./bench/jobs
go build -o "$dir/latency" ./bench/latency
until valkey-cli -p "$port" ping >/dev/null 2>&1; do sleep 0.1; done
"$dir/jobs" -n "$jobs" -queues "$queues" | valkey-cli -p "$port" --pipe | tail -1

scan() { valkey-cli -p "$port" --scan --pattern 'emq:*' | wc -l; }
audit() { "$dir/emqctl" audit --url "127.0.0.1:$port" "$@"; }

for ((r = 0; r < rounds; r++)); do
	time_ms scan >>"$dir/scan"
	out=$dir/out time_ms audit --rate 0 >>"$dir/audit"
done
tail -5 "$dir/out"
s=$(median "$dir/scan") a=$(median "$dir/audit")
echo "$jobs jobs, $queues queues; $(nproc) cores; medians of $rounds interleaved rounds"
echo "  valkey-cli --scan | wc -l  $s ms"
echo "  emqctl audit --rate 0      $a ms, $(awk -v a="$a" -v s="$s" 'BEGIN { printf "%.1f", a / s }') times as long"
for rate in 0 50000; do
	/usr/bin/time -f %M -o "$dir/kb" "$dir/emqctl" audit --url "127.0.0.1:$port" --rate "$rate" >/dev/null
	awk -v r="$rate" '{ printf "  peak memory, --rate %-6s %5.1f MiB\n", r, $1 / 1024 }' "$dir/kb"
done

# feel NAME COMMAND...: pings while a command runs
feel() {
	local name=$1
	shift
	"$dir/latency" "127.0.0.1:$port" >"$dir/felt" &
	local pinger=$!
	"$@" >/dev/null
	kill -INT "$pinger"
	wait "$pinger"
	printf '  %-26s %s\n' "$name" "$(cat "$dir/felt")"
}
echo 'another client, a ping a millisecond'
feel 'while nothing runs' sleep 5
feel 'while --scan runs' scan
feel 'while audit --rate 0' audit --rate 0
feel 'while audit --rate 50000' audit --rate 50000
