package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker for a release.
var version string

func newVersionCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of emqctl and of what it is built from",
		Long: `Show the version, the commit and its date, the Go version, and the modules that
are linked in.`,
		Example: "  emqctl version\n  emqctl version -o json",
		Args:    operands(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return e.emit(newVersionRecord(debug.ReadBuildInfo()), false)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

// versionRecord is what the build knows of itself.
type versionRecord struct {
	Version string          `json:"version"`
	Commit  *string         `json:"commit"`
	Date    *string         `json:"date"`
	Dirty   bool            `json:"dirty"` // built with changes that are not in Commit
	Go      string          `json:"go"`
	Modules []versionModule `json:"modules"`
}

type versionModule struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

func newVersionRecord(info *debug.BuildInfo, ok bool) versionRecord {
	r := versionRecord{Version: version, Modules: []versionModule{}}
	if !ok {
		info = &debug.BuildInfo{}
	}
	if r.Version == "" {
		r.Version = info.Main.Version
	}
	if r.Version == "" {
		r.Version = "(devel)"
	}
	r.Go = info.GoVersion
	for _, s := range info.Settings {
		value := s.Value
		switch s.Key {
		case "vcs.revision":
			r.Commit = &value
		case "vcs.time":
			r.Date = &value
		case "vcs.modified":
			r.Dirty = value == "true"
		}
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		r.Modules = append(r.Modules, versionModule{m.Path, m.Version})
	}
	return r
}

func (r versionRecord) verdict() verdict             { return 0 }
func (r versionRecord) contract() any                { return r }
func (r versionRecord) appendJSON(dst []byte) []byte { return marshal(dst, r) }

func (r versionRecord) appendText(p *page) {
	p.label("emqctl").ink(p.paint.main, r.Version).end()
	known := func(s *string) string {
		if s == nil {
			return "unknown"
		}
		return *s
	}
	p.label("commit").str(known(r.Commit))
	if r.Dirty {
		p.about("with changes")
	}
	p.end()
	p.label("date").str(known(r.Date)).end()
	p.label("go").str(r.Go).end()
	for _, m := range r.Modules {
		p.label("module").str(m.Path + " " + m.Version).end()
	}
}
