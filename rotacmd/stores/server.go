package stores

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/elastic"
	"github.com/rota-run/rota/store/etcd"
	"github.com/rota-run/rota/store/kafka"
	"github.com/rota-run/rota/store/nats"
	"github.com/rota-run/rota/store/postgres"
	"github.com/rota-run/rota/store/zookeeper"
)

// Stores on servers: their URLs become the options of their packages here, and nowhere else.

// serverKind makes a kind of store from what its URL may say and from what opens it.
func serverKind(s storeurl.Scheme, getenv func(string) string,
	open func(ctx context.Context, u storeurl.URL, a Access) (store.Full, error)) Kind {
	return Kind{s.Name, s.Example(), func(ctx context.Context, p Place) (store.Full, error) {
		u, err := serverURL(p.URL, s, getenv)
		if err != nil {
			return nil, err
		}
		u = u.Beside(p.Beside)
		st, err := open(ctx, u, p.Access)
		var misspelled *Error
		if err != nil && !errors.As(err, &misspelled) {
			return nil, &OpenError{Place: u.String(), Err: err}
		}
		return st, err
	}}
}

func serverURL(text string, s storeurl.Scheme, getenv func(string) string) (storeurl.URL, error) {
	u, err := storeurl.Parse(text, s, getenv)
	if _, ok := errors.AsType[*storeurl.ParameterError](err); ok { // another URL would not help
		return u, wrong(nil, "%w", err)
	}
	if err != nil {
		return u, wrong([]string{s.Example()}, "%w", err)
	}
	return u, nil
}

// checkServer says what is wrong with the URL of a store on a server; nil for any other.
func checkServer(text string, getenv func(string) string) error {
	for _, s := range serverSchemes() {
		if strings.HasPrefix(text, s.Name+":") {
			_, err := serverURL(text, s, getenv)
			return err
		}
	}
	return nil
}

// serverSchemes are what the URLs of servers may say.
func serverSchemes() []storeurl.Scheme {
	return []storeurl.Scheme{
		{Name: "elastic", Port: "9200", Keys: []string{"api-key", "replicas"}},
		{Name: "etcd", Port: "2379"},
		{Name: "kafka", Port: "9092", Keys: []string{"mechanism", "replicas"}},
		{Name: "nats", Port: "4222", Keys: []string{"token", "creds", "replicas"}},
		{Name: "postgres", Port: "5432", Keys: []string{"schema"}, UserAtHost: true},
		{Name: "zookeeper", Port: "2181", Keys: []string{"session"}},
	}
}

func serverKinds(getenv func(string) string) []Kind {
	open := map[string]func(context.Context, storeurl.URL, Access) (store.Full, error){
		"elastic": openElastic, "etcd": openEtcd, "kafka": openKafka, "nats": openNATS, "postgres": openPostgres,
		"zookeeper": openZooKeeper,
	}
	var kinds []Kind
	for _, s := range serverSchemes() {
		kinds = append(kinds, serverKind(s, getenv, open[s.Name]))
	}
	return kinds
}

// opened is a store that was opened, and no store where there is an error: a nil *etcd.Store is not a nil store.Full.
func opened[S store.Full](s S, err error) (store.Full, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openElastic(ctx context.Context, u storeurl.URL, a Access) (store.Full, error) {
	if err := elastic.CheckIndex(u.Path); err != nil {
		return nil, wrong([]string{"elastic://127.0.0.1:9200/" + strings.NewReplacer("/", "-", "@", "-", "#", "-", "=",
			"-", ":", "-").Replace(strings.ToLower(u.Path))},
			"store %s: %w", u, err)
	}
	return opened(elastic.Open(ctx, elastic.Options{
		Servers: u.Hosts, Index: u.Path, User: u.User, Password: u.Password, APIKey: u.Token, TLS: u.TLS,
		Copies: u.Replicas, Timeout: u.Timeout, MustExist: a != Create, ReadOnly: a == Look,
	}))
}

func openEtcd(ctx context.Context, u storeurl.URL, a Access) (store.Full, error) {
	return opened(etcd.Open(ctx, etcd.Options{
		Endpoints: u.Hosts, Prefix: u.Path, User: u.User, Password: u.Password, TLS: u.TLS, Timeout: u.Timeout,
		MustExist: a != Create, ReadOnly: a == Look,
	}))
}

// topic is what Kafka allows in the name of a topic, with room for what the store adds.
var topic = regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}$`)

func openKafka(ctx context.Context, u storeurl.URL, a Access) (store.Full, error) {
	if !topic.MatchString(u.Path) {
		return nil, wrong([]string{"kafka://127.0.0.1:9092/" + strings.ReplaceAll(u.Path, "/", ".")},
			"store %s: the path is one name of letters, digits, . _ and -", u)
	}
	return opened(kafka.Open(ctx, kafka.Options{
		Brokers: u.Hosts, Name: u.Path, User: u.User, Password: u.Password, Mechanism: u.Mechanism, TLS: u.TLS,
		Replicas: u.Replicas, Timeout: u.Timeout, MustExist: a != Create, ReadOnly: a == Look,
	}))
}

// bucket is what NATS allows in the name of a bucket.
var bucket = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func openNATS(ctx context.Context, u storeurl.URL, a Access) (store.Full, error) {
	if !bucket.MatchString(u.Path) {
		return nil, wrong([]string{"nats://127.0.0.1:4222/" + strings.NewReplacer("/", "-", ".", "-").Replace(u.Path)},
			"store %s: the path is one name of letters, digits, _ and -", u)
	}
	urls := make([]string, len(u.Hosts))
	for i, h := range u.Hosts {
		urls[i] = "nats://" + h
	}
	return opened(nats.Open(ctx, nats.Options{
		URLs: urls, Bucket: u.Path, User: u.User, Password: u.Password, Token: u.Token, CredsFile: u.Credentials,
		TLS: u.TLS, Replicas: u.Replicas, Timeout: u.Timeout, MustExist: a != Create, ReadOnly: a == Look,
	}))
}

func openPostgres(ctx context.Context, u storeurl.URL, a Access) (store.Full, error) {
	return opened(postgres.Open(ctx, postgres.Options{
		Hosts: u.Hosts, Database: u.Path, Schema: u.Schema, User: u.User, Password: u.Password, TLS: u.TLS,
		Timeout: u.Timeout, MustExist: a != Create, ReadOnly: a == Look,
	}))
}

func openZooKeeper(ctx context.Context, u storeurl.URL, a Access) (store.Full, error) {
	return opened(zookeeper.Open(ctx, zookeeper.Options{
		Servers: u.Hosts, Path: "/" + u.Path, User: u.User, Password: u.Password, TLS: u.TLS, Session: u.Session,
		Timeout: u.Timeout, MustExist: a != Create, ReadOnly: a == Look,
	}))
}
