package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// color is the value of --color.
type color string

const (
	colorAuto   color = "auto"
	colorAlways color = "always"
	colorNever  color = "never"
)

func (c *color) String() string { return string(*c) }
func (c *color) Type() string   { return "auto|always|never" }

func (c *color) Set(s string) error {
	switch color(s) {
	case colorAuto, colorAlways, colorNever:
		*c = color(s)
		return nil
	}
	return fmt.Errorf("want auto, always or never")
}

// on reports whether a stream gets colour: as --color says, or else when it
// is a terminal that is not dumb and NO_COLOR is not set.
func (c color) on(w io.Writer, getenv func(string) string) bool {
	if c != colorAuto {
		return c == colorAlways
	}
	return isTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// ink is a style as the bytes before and after what it paints. Colour repeats
// what the words say: without any ink nothing is lost.
type ink struct{ on, off string }

// palette has every style of the program, named for its meaning.
type palette struct {
	label ink // the name of a value
	main  ink // what the reader came for
	id    ink // an id, or a part of one
	time  ink
	good  ink
	note  ink
	bad   ink
	dim   ink // an explanation
}

// newPalette makes the styles with a renderer of their own, so that nothing
// asks the terminal about itself. Of the sixteen terminal colours those are
// used that can be read on light and dark alike: no white, no black, no blue.
func newPalette(colored bool) palette {
	if !colored {
		return palette{}
	}
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	r.SetHasDarkBackground(true)
	mix := func(s lipgloss.Style) ink {
		on, off, _ := strings.Cut(s.Render("x"), "x")
		return ink{on, off}
	}
	fg := func(c string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(c)) }
	return palette{
		label: mix(r.NewStyle().Faint(true)),
		main:  mix(r.NewStyle().Bold(true)),
		id:    mix(fg("6")),
		time:  mix(fg("5")),
		good:  mix(fg("2")),
		note:  mix(fg("3")),
		bad:   mix(fg("1").Bold(true)),
		dim:   mix(r.NewStyle().Faint(true)),
	}
}
