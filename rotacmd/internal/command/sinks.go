package command

import (
	"slices"
	"strings"

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
	sink   func(u storeurl.URL) (publish.Sink, error)
}

// encrypted follows a scheme that means the same with tls=on.
const encrypted = "+tls"

// serverSinks are sorted by their names.
func serverSinks() []serverSink {
	kind := func(name, port, query string, sink func(storeurl.URL) (publish.Sink, error), keys ...string) serverSink {
		return serverSink{storeurl.Scheme{Name: name, Port: port, Keys: keys, Sink: true}, query, sink}
	}
	return []serverSink{
		kind("elastic", "9200", "?index=samples", openElasticSink, "api-key", "index"),
		kind("influx", "8086", "?org=ORG&bucket=BUCKET&token=env:NAME", openInfluxSink, "token", "org", "bucket", "database", "retention"),
		kind("kafka", "9092", "?topic=samples", openKafkaSink, "mechanism", "topic"),
		kind("nats", "4222", "?subject=samples", openNATSSink, "token", "creds", "subject"),
		kind("otlp", "4318", "", openOTLPSink, "token", "service"),
		kind("otlp+grpc", "4317", "", openOTLPGRPCSink, "token", "service"),
		kind("remotewrite", "9090", "", openRemoteWriteSink, "token"),
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

func openElasticSink(u storeurl.URL) (publish.Sink, error) {
	return elastic.New(elastic.Options{Servers: u.Hosts, Target: u.Extra["index"], APIKey: u.Token, User: u.User, Password: u.Password, TLS: u.TLS})
}

func openInfluxSink(u storeurl.URL) (publish.Sink, error) {
	return influx.New(influx.Options{
		Servers: u.Hosts, Org: u.Extra["org"], Bucket: u.Extra["bucket"], Database: u.Extra["database"], Retention: u.Extra["retention"],
		Token: u.Token, User: u.User, Password: u.Password, TLS: u.TLS,
	})
}

func openKafkaSink(u storeurl.URL) (publish.Sink, error) {
	return kafka.New(kafka.Options{Brokers: u.Hosts, Topic: u.Extra["topic"], User: u.User, Password: u.Password, Mechanism: u.Mechanism, TLS: u.TLS})
}

func openNATSSink(u storeurl.URL) (publish.Sink, error) {
	return nats.New(nats.Options{
		Servers: u.Hosts, Subject: u.Extra["subject"], User: u.User, Password: u.Password, Token: u.Token, CredsFile: u.Credentials, TLS: u.TLS,
	})
}

func openOTLPSink(u storeurl.URL) (publish.Sink, error) {
	return otlp.New(otlp.Options{Servers: u.Hosts, Path: u.Path, Service: u.Extra["service"], Token: u.Token, User: u.User, Password: u.Password, TLS: u.TLS}), nil
}

func openOTLPGRPCSink(u storeurl.URL) (publish.Sink, error) {
	return otlpgrpc.New(otlpgrpc.Options{Servers: u.Hosts, Service: u.Extra["service"], Token: u.Token, User: u.User, Password: u.Password, TLS: u.TLS})
}

func openRemoteWriteSink(u storeurl.URL) (publish.Sink, error) {
	return remotewrite.New(remotewrite.Options{Servers: u.Hosts, Path: u.Path, Token: u.Token, User: u.User, Password: u.Password, TLS: u.TLS}), nil
}
