package tasks

import (
	"crypto/x509"
	"net/netip"
	"time"

	"github.com/rota-run/rota/tasks/program"
	"github.com/rota-run/rota/work"
)

// Options is what a member allows its tasks. The zero value allows little: public addresses only, no programs.
type Options struct {
	// AllowCIDRs are non-public address ranges to which any task of the member may connect; see ParseCIDRs.
	AllowCIDRs []netip.Prefix
	// ExecAllow are the absolute paths of programs that tasks of type exec may start.
	ExecAllow []string
	// EnvAllow are the names of variables, or prefixes with a star, that tasks may set for programs in addition to LANG, LANGUAGE, LC_* and TZ.
	EnvAllow []string
	// Programs is the room in which tasks run programs; one for all types of a process. Default: a room that finds descendants of programs by their environment.
	Programs *program.Room
	// TailAllow are the absolute paths of directories below which tasks of type tail and files.lines may read files.
	TailAllow []string
	// WriteAllow are the absolute paths of directories below which tasks of type files.write may write.
	WriteAllow []string
	// Witness adds the types witness and witness-items, for tests of Rota itself.
	Witness bool
	// RootCAs are the trusted authorities of certificates; nil means those of the system.
	RootCAs *x509.CertPool
}

// Builtin returns a new table of the built-in types; the caller may change it.
func Builtin(o Options) work.Types {
	if o.Programs == nil {
		o.Programs = program.NewRoom(program.Options{NoGroup: true})
	}
	table := work.Types{}
	for _, t := range []work.Type{
		o.http(), o.tcp(), o.dns(), o.tls(), o.host(), o.scrape(), o.exec(), o.command(), o.tail(), o.noop(),
		o.filesLines(), o.filesWrite(), o.httpPost(), mapSegments(), filterSegments(), windowSegments(),
	} {
		table[t.Name] = t
	}
	if o.Witness {
		table["witness"] = o.witness()
		table["witness-items"] = o.witnessItems()
	}
	return table
}

const (
	defaultEvery   = 10 * time.Second
	defaultTimeout = 10 * time.Second
)

// roundTimeout is how long a round of a periodic type may take.
func roundTimeout(d work.Definition) time.Duration {
	if d.TimeoutMS > 0 {
		return time.Duration(d.TimeoutMS) * time.Millisecond
	}
	if every := time.Duration(d.EveryMS) * time.Millisecond; every > 0 {
		return min(every, defaultTimeout)
	}
	return defaultTimeout
}
