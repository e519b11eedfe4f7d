# What the scripts of this folder have in common; they source it.

# time_ms COMMAND...: how long it takes, in milliseconds with a fraction. Its
# output goes to the file that $out names, or nowhere. The clock is bash's own,
# so no other process is started in between.
time_ms() {
	local from=${EPOCHREALTIME/[.,]/} to
	"$@" >"${out:-/dev/null}"
	to=${EPOCHREALTIME/[.,]/}
	awk -v us=$((to - from)) 'BEGIN { printf "%.1f\n", us / 1e3 }'
}

# median FILE: the middle one of its numbers.
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
