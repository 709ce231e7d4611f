package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

// sinkTexts are the sinks that a setting names. A variable of the environment has several, separated by blanks.
func sinkTexts(settings []string) []string {
	var out []string
	for _, s := range settings {
		words := strings.Fields(s)
		several := !slices.ContainsFunc(words, func(w string) bool { return w != "stdout" && w != "none" && !strings.Contains(w, ":") })
		if !several || len(words) == 0 {
			words = []string{s} // a path with blanks
		}
		out = append(out, words...)
	}
	return out
}

// openPublishers opens all sinks of a member as one publisher, nil for none, and says where samples go.
func (e env) openPublishers(settings []string) (publish.Publisher, string, error) {
	texts := sinkTexts(settings)
	if len(texts) == 1 && texts[0] == "none" {
		return nil, "samples are dropped", nil
	}
	var all []publish.Publisher
	var names []string
	for _, text := range texts {
		p, name, err := e.openPublisher(text)
		if err != nil {
			return nil, "", err
		}
		if slices.Contains(names, name) {
			return nil, "", misused("each sink once", "publish %s: it is there twice", name)
		}
		all, names = append(all, p), append(names, name)
	}
	if len(all) == 0 {
		return nil, "", misused("--publish stdout or --publish none", "publish: no sink")
	}
	said := "samples to " + strings.Join(names, ", ")
	switch path, isFile := strings.CutPrefix(names[0], "file:"); {
	case len(all) > 1:
	case names[0] == "stdout":
		said = "samples on stdout"
	case isFile:
		said = "samples in " + path
	}
	return publish.Fanout(all...), said, nil
}

// openPublisher opens one sink, and says its name.
func (e env) openPublisher(text string) (publish.Publisher, string, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case text == "stdout":
		return publish.NewWriter("stdout", e.stdout, publish.Options{}), "stdout", nil
	case text == "none":
		return nil, "", misused("--publish none alone, or leave it out", "publish none: there are other sinks")
	case kind == "file" && rest != "":
		p, err := publish.NewFile(rest, publish.Options{})
		if err != nil {
			return nil, "", failed("another --publish", "%w", err)
		}
		return p, text, nil
	}
	if k, plain, ok := serverSinkOf(text); ok {
		return k.open(plain, e.getenv)
	}
	for _, k := range e.own.Publishers {
		if k.Scheme != kind {
			continue
		}
		p, err := k.Open(rest)
		if err != nil {
			return nil, "", failed("another --publish", "publish %s: %w", kind, err)
		}
		return publish.Named(kind, p), kind, nil
	}
	return nil, "", e.unknownSink(text)
}

func (e env) unknownSink(text string) error {
	kind, rest, _ := strings.Cut(text, ":")
	if near, ok := plain.Nearest(kind, append(sinkNames(), "none")); ok {
		if near == "file" {
			near += ":" + cmp.Or(storeurl.Hide(rest), "PATH")
		} else if k, _, ok := serverSinkOf(near + ":"); ok {
			near = "'" + k.example() + "'"
		}
		return misused("--publish "+near, "publish %q: unknown sink", storeurl.Hide(text))
	}
	return misused(strings.Join(e.sinks(), ", ")+" or --publish none", "publish %q: unknown sink", storeurl.Hide(text))
}

// sinks are what --publish takes, without none.
func (e env) sinks() []string {
	sinks := []string{"--publish stdout", "--publish file:PATH"}
	for _, k := range serverSinks() {
		sinks = append(sinks, "--publish '"+k.example()+"'")
	}
	for _, k := range e.own.Publishers {
		sinks = append(sinks, "--publish "+k.Scheme+":…")
	}
	return sinks
}
