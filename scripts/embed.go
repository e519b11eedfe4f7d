// Package scripts carries the protocol's Lua scripts, one file a verb; their
// headers are read by internal/scripts.
package scripts

import "embed"

// FS holds the scripts at its root: "enqueue.lua".
//
//go:embed *.lua
var FS embed.FS
