package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/elastic"
	"github.com/rota-run/rota/publish/influx"
	"github.com/rota-run/rota/publish/kafka"
	"github.com/rota-run/rota/publish/nats"
	"github.com/rota-run/rota/publish/otlp"
	"github.com/rota-run/rota/publish/otlpgrpc"
	"github.com/rota-run/rota/publish/remotewrite"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

// serverSink is a kind of sink on a server: its URL becomes the options of its package here, and nowhere else.
type serverSink struct {
	scheme storeurl.Scheme
	query  string // of an example
}

// encrypted follows a scheme that means the same with tls=on.
const encrypted = "+tls"

// serverSinks are sorted by their names.
func serverSinks() []serverSink {
	kind := func(name, port, query string, keys ...string) serverSink {
		return serverSink{storeurl.Scheme{Name: name, Port: port, Keys: keys, Sink: true}, query}
	}
	return []serverSink{
		kind("elastic", "9200", "?index=samples", "api-key", "index"),
		kind("influx", "8086", "?org=ORG&bucket=BUCKET&token=env:NAME", "token", "org", "bucket", "database",
			"retention"),
		kind("kafka", "9092", "?topic=samples", "mechanism", "topic"),
		kind("nats", "4222", "?subject=samples", "token", "creds", "subject"),
		kind("otlp", "4318", "", "token", "service"),
		kind("otlp+grpc", "4317", "", "token", "service"),
		kind("remotewrite", "9090", "", "token"),
	}
}

func (k serverSink) example() string { return k.scheme.Example() + k.query }

// serverSinkOf finds the kind of a URL, and gives the URL in its plain form.
func serverSinkOf(text string) (k serverSink, plain string, ok bool) {
	name, rest, _ := strings.Cut(text, ":")
	name, secure := strings.CutSuffix(name, encrypted)
	plain = name + ":" + rest
	if secure {
		plain += map[bool]string{true: "&", false: "?"}[strings.Contains(rest, "?")] + "tls=on"
	}
	all := serverSinks()
	i := slices.IndexFunc(all, func(k serverSink) bool { return k.scheme.Name == name })
	if i < 0 {
		return serverSink{}, "", false
	}
	return all[i], plain, true
}

// sinkNames are the schemes of --publish.
func sinkNames() []string {
	names := []string{"stdout", "file"}
	for _, k := range serverSinks() {
		names = append(names, k.scheme.Name)
	}
	return names
}

// sinkForms is the part of a help text about sinks on servers.
func sinkForms() string {
	var forms []string
	for _, k := range serverSinks() {
		forms = append(forms, k.scheme.Name)
	}
	return strings.Join(forms, ", ") + " as SCHEME://HOST:PORT?KEY=VALUE"
}

func (k serverSink) open(text string, getenv func(string) string) (publish.Publisher, string, error) {
	try := "--publish '" + k.example() + "'"
	u, err := storeurl.Parse(text, k.scheme, getenv)
	if err != nil {
		return nil, "", misused(try, "%w", err)
	}
	s, err := k.sink(u)
	if err != nil {
		return nil, "", misused(try, "publish %s: %w", storeurl.Hide(text), err)
	}
	name := sinkName(u)
	o := publish.Options{SendTimeout: u.Timeout}
	switch k.scheme.Name {
	case "elastic":
		o.Batch = elastic.Batch
	case "kafka":
		o.Batch = kafka.Batch
	}
	return publish.NewBatcher(name, s, o), name, nil
}

// sinkName is the URL without what may be a secret.
func sinkName(u storeurl.URL) string {
	name := u.Scheme + "://" + strings.Join(u.Hosts, ",")
	if u.Path != "" {
		name += "/" + u.Path
	}
	for _, key := range []string{"topic", "subject", "index", "bucket", "database"} {
		if v := u.Extra[key]; v != "" {
			name += "?" + key + "=" + v
		}
	}
	return name
}

// sink makes the client of a server.
func (k serverSink) sink(u storeurl.URL) (publish.Sink, error) {
	switch k.scheme.Name {
	case "elastic":
		return elastic.New(elastic.Options{Servers: u.Hosts, Target: u.Extra["index"], APIKey: u.Token, User: u.User,
			Password: u.Password, TLS: u.TLS})
	case "influx":
		return influx.New(influx.Options{Servers: u.Hosts, Org: u.Extra["org"], Bucket: u.Extra["bucket"],
			Database: u.Extra["database"], Retention: u.Extra["retention"], Token: u.Token, User: u.User,
			Password: u.Password, TLS: u.TLS})
	case "kafka":
		return kafka.New(kafka.Options{Brokers: u.Hosts, Topic: u.Extra["topic"], User: u.User, Password: u.Password,
			Mechanism: u.Mechanism, TLS: u.TLS})
	case "nats":
		return nats.New(nats.Options{Servers: u.Hosts, Subject: u.Extra["subject"], User: u.User, Password: u.Password,
			Token: u.Token, CredsFile: u.Credentials, TLS: u.TLS})
	case "otlp":
		return otlp.New(otlp.Options{Servers: u.Hosts, Path: u.Path, Service: u.Extra["service"], Token: u.Token,
			User: u.User, Password: u.Password, TLS: u.TLS}), nil
	case "otlp+grpc":
		return otlpgrpc.New(otlpgrpc.Options{Servers: u.Hosts, Service: u.Extra["service"], Token: u.Token,
			User: u.User, Password: u.Password, TLS: u.TLS})
	}
	return remotewrite.New(remotewrite.Options{Servers: u.Hosts, Path: u.Path, Token: u.Token, User: u.User,
		Password: u.Password, TLS: u.TLS}), nil
}

// sinkTexts are the sinks that a setting names. A variable of the environment has several, separated by blanks.
func sinkTexts(settings []string) []string {
	var out []string
	for _, s := range settings {
		words := strings.Fields(s)
		several := !slices.ContainsFunc(words,
			func(w string) bool { return w != "stdout" && w != "none" && !strings.Contains(w, ":") })
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
		return publish.NewWriter("stdout", e.out(), publish.Options{}), "stdout", nil
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
	if near, ok := safetext.Nearest(kind, append(sinkNames(), "none")); ok {
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

// openStorages opens the places that get a copy of each record of the journal.
func (e env) openStorages(texts []string) ([]journal.Appender, error) {
	var all []journal.Appender
	for i, text := range texts {
		if slices.Contains(texts[:i], text) {
			return nil, misused("each storage once", "storage %s: it is there twice", storeurl.Hide(text))
		}
		s, err := e.openStorage(text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (e env) openStorage(text string) (journal.Appender, error) {
	kind, rest, _ := strings.Cut(text, ":")
	if kind == "file" && rest != "" {
		f, err := journal.NewFile(rest)
		if err != nil {
			return nil, failed("another --storage", "%w", err)
		}
		return f, nil
	}
	known := []string{"file"}
	for _, k := range e.own.Storages {
		if k.Scheme != kind {
			known = append(known, k.Scheme)
			continue
		}
		s, err := k.Open(rest)
		if err != nil {
			return nil, failed("another --storage", "storage %s: %w", storeurl.Hide(text), err)
		}
		return s, nil
	}
	near := nearestOr(kind, known, "file")
	if near == "file" {
		near += ":PATH"
	} else {
		near += ":…"
	}
	return nil, misused("--storage "+near, "storage %q: unknown kind", storeurl.Hide(text))
}
