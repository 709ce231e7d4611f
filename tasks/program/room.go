package program

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// variable is the name of the mark in the environment of programs.
const variable = "ROTA_PROGRAM"

// ErrUnsupported says that programs can be run on Linux alone.
var ErrUnsupported = errors.New("programs can only be run on Linux")

// Options of a [Room]. The zero value works.
type Options struct {
	// NoGroup leaves control groups alone, also where they could be made.
	NoGroup bool
	// Adopt makes this process the parent of what its programs leave behind, where there are no control groups. Then the end of a program costs no look
	// at all processes of the machine. It is for a process that starts no programs in another way, since it also reaps them.
	Adopt bool
	// Logger hears why there are no control groups; default: discard.
	Logger *slog.Logger
}

// Place is what another process needs to end the programs of a room.
type Place struct {
	Mark  string `json:"mark"`            // begins the mark of each of its programs
	Group string `json:"group,omitempty"` // directory of the control group that has them all; "" for none
}

// Command is a program and what it gets.
type Command struct {
	Argv           []string // the program's absolute path and its arguments
	Env            []string // all of its environment but the mark
	Dir            string
	Grace          time.Duration // from SIGTERM to SIGKILL when the context ends
	Stdout, Stderr io.Writer
}

// End is how a program ended: its code, or -1 and the signal.
type End struct {
	Code   int
	Signal string
}

// Room is where one process runs programs. Its methods may be called from any goroutine.
type Room struct {
	place  Place
	group  *group // nil for none
	adopts bool
	count  atomic.Uint64

	mu      sync.Mutex   // a program is started and noted, or orphans are reaped
	started map[int]bool // processes that somebody here waits for
}

// NewRoom makes a room. It ends what rooms of dead processes have left in the same control group.
func NewRoom(o Options) *Room {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Room{place: Place{Mark: rand.Text()[:16]}, started: make(map[int]bool)}
	r.settle(o)
	return r
}

// Place is where its programs are.
func (r *Room) Place() Place { return r.place }

// Run runs a program to its end. When ctx ends, its process group gets SIGTERM and, after the grace, SIGKILL. Then all that it has started and left is
// killed, and Run returns when nothing is left. An error is that it could not be started or waited for.
func (r *Room) Run(ctx context.Context, c Command) (End, error) { return r.run(ctx, c) }

// Close gives the control group back. Programs must have ended.
func (r *Room) Close() error { return r.close() }

// mark is that of the next program.
func (r *Room) mark() string { return r.place.Mark + "." + strconv.FormatUint(r.count.Add(1), 10) }

// marked tells whether an environment, variables with a NUL after each, has a mark: the whole one, or that of any program of a room.
func marked(environ, mark string) bool {
	for v := range strings.SplitSeq(environ, "\x00") {
		value, ok := strings.CutPrefix(v, variable+"=")
		if ok && (value == mark || strings.HasPrefix(value, mark+".")) {
			return true
		}
	}
	return false
}
