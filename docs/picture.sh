#!/usr/bin/env bash
# Makes docs/picture.svg, the picture of the README, from what the program
# prints. freeze draws terminal output and is of the family of lipgloss.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/emqctl" ./cmd/emqctl
show() {
	printf '\033[36m$ emqctl'
	printf ' %q' "$@" | sed "s/\\\\\([{}]\)/\1/g"
	printf '\033[0m\n'
	"$dir/emqctl" "$@" --color always || true
	echo
}
{
	show decode-key 'emq:{quotes}:job:JOB0KHTOWnGLuC'
	show decode-key 'emq:quotes:pending'
	show decode-id JOB-42
} >"$dir/shot.ansi"
go run github.com/charmbracelet/freeze@v0.2.2 "$dir/shot.ansi" --font.family monospace -o docs/picture.svg
