package kafka_test

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/kafka"
	"github.com/rota-run/rota/store/storetest"
)

// admin is a client for what a test does beside the store.
func admin(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c := must.Get(kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(servers(t)...)}, opts...)...))(t)
	t.Cleanup(c.Close)
	return c
}

// request makes a request that must be answered; the answer's errors are the caller's.
func request[R kmsg.Response](t testing.TB, c *kgo.Client, req kmsg.Request) R {
	t.Helper()
	resp := must.Get(c.Request(rig.Deadline(t), req))(t)
	return resp.(R) //nolint:forcetypeassert // the answer to such a request
}

// createTopic makes a topic with settings of its own.
func createTopic(t testing.TB, c *kgo.Client, name string, partitions int32, settings ...string) {
	t.Helper()
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = name, partitions, -1
	for i := 0; i < len(settings); i += 2 {
		set := kmsg.NewCreateTopicsRequestTopicConfig()
		set.Name, set.Value = settings[i], kmsg.StringPtr(settings[i+1])
		one.Configs = append(one.Configs, set)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics, req.TimeoutMillis = []kmsg.CreateTopicsRequestTopic{one}, 60_000
	if err := kerr.ErrorForCode(request[*kmsg.CreateTopicsResponse](t, c, req).Topics[0].ErrorCode); err != nil {
		t.Fatalf("make topic %s: %v", name, err)
	}
	known := kmsg.NewMetadataRequestTopic()
	known.Topic = kmsg.StringPtr(name)
	ask := kmsg.NewPtrMetadataRequest()
	ask.Topics = []kmsg.MetadataRequestTopic{known}
	rig.Eventually(t, "the broker knows the topic "+name, func() bool { // it hears of it from the controller
		return request[*kmsg.MetadataResponse](t, c, ask).Topics[0].ErrorCode == 0
	})
}

func deleteTopic(t testing.TB, c *kgo.Client, name string) {
	t.Helper()
	one := kmsg.NewDeleteTopicsRequestTopic()
	one.Topic = kmsg.StringPtr(name)
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames, req.Topics, req.TimeoutMillis = []string{name}, []kmsg.DeleteTopicsRequestTopic{one}, 60_000
	if err := kerr.ErrorForCode(request[*kmsg.DeleteTopicsResponse](t, c, req).Topics[0].ErrorCode); err != nil {
		t.Fatalf("delete topic %s: %v", name, err)
	}
}

// wantWords checks that an error says all that a user needs.
func wantWords(t *testing.T, err, is error, words ...string) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Fatalf("error %v, want %v", err, is)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
}

// TestTopicsThatAreRefused has topics that somebody made in another way.
func TestTopicsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		partitions int32
		settings   []string
		words      []string
	}{
		"partitions": {2, nil, []string{"has 2 partitions", "kafka-topics.sh", "--partitions 1", "retention.ms=-1"}},
		"time": {1, []string{"retention.ms", "1000000", "retention.bytes", "-1"},
			[]string{"has retention.ms=1000000", "kafka-configs.sh", "--add-config retention.ms=-1"}},
		"size": {1, []string{"retention.bytes", "1000000", "retention.ms", "-1"},
			[]string{"has retention.bytes=1000000", "--add-config retention.bytes=-1"}},
		"compaction": {1, []string{"cleanup.policy", "compact", "retention.ms", "-1"},
			[]string{"has cleanup.policy=compact", "--add-config cleanup.policy=delete"}},
		"small": {1, []string{"max.message.bytes", "1000", "retention.ms", "-1"},
			[]string{"has max.message.bytes=1000", "--add-config max.message.bytes=1048588"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := kafka.Options{Brokers: servers(t), Name: freshName(t)}
			createTopic(t, admin(t), o.Name+".log", c.partitions, c.settings...)
			rig.Refused(t, kafka.Open, o, store.ErrUnavailable, append(c.words, o.Name+".log", "try")...)
		})
	}
}

// TestFormerFormat: a place that an earlier version has made is refused, and nothing is made beside it.
func TestFormerFormat(t *testing.T) {
	t.Parallel()
	o := kafka.Options{Brokers: servers(t), Name: freshName(t)}
	createTopic(t, admin(t), o.Name+".log-snapshots", 1)
	for _, o.ReadOnly = range []bool{false, true} {
		rig.Refused(t, kafka.Open, o, store.ErrUnavailable, "has format 1", "give another name", o.Name)
	}
}

func TestMustExist(t *testing.T) {
	t.Parallel()
	o := kafka.Options{Brokers: servers(t), Name: freshName(t), MustExist: true}
	rig.Refused(t, kafka.Open, o, store.ErrNotFound, o.Name)
	o.MustExist = false
	openWith(t, o)
	o.ReadOnly = true
	reader := openWith(t, o)
	_, err := reader.Append(rig.Deadline(t), nil)
	wantWords(t, err, store.ErrReadOnly, "reading only")
	_, err = reader.Put(rig.Deadline(t), store.Doc{Key: "a"})
	wantWords(t, err, store.ErrReadOnly, "reading only")
	_, err = reader.JoinGroup(rig.Deadline(t), store.JoinRequest{})
	wantWords(t, err, store.ErrReadOnly, "reading only")
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	o := kafka.Options{Brokers: []string{rig.Nobody(t)}, Timeout: time.Second}
	rig.Refused(t, kafka.Open, o, store.ErrUnavailable, o.Brokers[0])
}

// TestTopicIsDeleted deletes a topic under an open store, and then makes it again.
func TestTopicIsDeleted(t *testing.T) {
	t.Parallel()
	o, ctx := kafka.Options{Brokers: servers(t), Name: freshName(t), Timeout: 5 * time.Second}, rig.LongDeadline(t)
	s, c := openWith(t, o), admin(t)
	must.Succeed(t, must.Err(s.Append(ctx, []byte("one"))))
	damaged := func(what string) {
		t.Helper()
		rig.Eventually(t, "a read says that the topic is gone", func() bool {
			_, err := s.Read(ctx, 0, 10)
			return errors.Is(err, kafka.ErrDamaged)
		})
		if _, err := s.Append(ctx, []byte("two")); err == nil {
			t.Fatalf("append to a topic that %s: no error", what)
		}
	}
	deleteTopic(t, c, o.Name+".log")
	damaged("is deleted")
	createTopic(t, c, o.Name+".log", 1, "retention.ms", "-1")
	damaged("was made again")
}

// TestForeignRecords has records that other programs wrote: before, between and behind ours. They are skipped, and
// counted.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	o, ctx := kafka.Options{Brokers: servers(t), Name: freshName(t)}, rig.Deadline(t)
	s := openWith(t, o)
	c := admin(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	foreign := func(topic, text string) {
		t.Helper()
		r := &kgo.Record{Topic: o.Name + topic, Value: []byte(text),
			Headers: []kgo.RecordHeader{{Key: "rota", Value: []byte("no")}}}
		must.Succeed(t, c.ProduceSync(ctx, r).FirstErr())
	}
	read := func(s *kafka.Store, head uint64, want ...string) {
		t.Helper()
		page, err := s.Read(ctx, 0, 10)
		var got []string
		for _, r := range page.Records {
			got = append(got, string(r.Data))
		}
		if err != nil || strings.Join(got, " ") != strings.Join(want, " ") || page.Head != head {
			t.Fatalf("%q, head %d, %v; want %q, head %d", got, page.Head, err, want, head)
		}
	}
	foreign(".log", "hello")
	read(s, 0)
	one, err := s.Append(ctx, []byte("one"))
	if err != nil || one != 2 {
		t.Fatalf("append behind a foreign record: index %d, %v; want 2", one, err)
	}
	for range 20 {
		foreign(".log", "{}")
	}
	read(s, one, "one")
	read(openWith(t, o), one, "one") // one that has to look for the newest
	two := must.Get(s.Append(ctx, []byte("two")))(t)
	foreign(".log", "bye")
	read(s, two, "one", "two")
	read(openWith(t, o), two, "one", "two")
	foreign(".docs", "hello")
	foreign(".log-values", "hello")
	must.Succeed(t, s.SaveSnapshot(ctx, store.Record{Index: one, Data: []byte("s")}))
	must.Succeed(t, must.Err(s.Put(ctx, store.Doc{Key: "a"})))
	if got, err := s.Snapshot(ctx); err != nil || got.Index != one || string(got.Data) != "s" {
		t.Fatalf("snapshot %+v, %v", got, err)
	}
	if n := s.Foreign(); n < 23 {
		t.Errorf("%d foreign records were counted, want at least 23", n)
	}
}

// TestNewerFormat: what a newer version has written is refused, and never skipped.
func TestNewerFormat(t *testing.T) {
	t.Parallel()
	o, ctx := kafka.Options{Brokers: servers(t), Name: freshName(t)}, rig.Deadline(t)
	s := openWith(t, o)
	must.Succeed(t, must.Err(s.Append(ctx, []byte("one"))))
	value := []byte("new")
	sum := binary.BigEndian.AppendUint32([]byte{3}, crc32.Checksum(value, crc32.MakeTable(crc32.Castagnoli)))
	for _, topic := range []string{".log", ".docs"} {
		r := &kgo.Record{Topic: o.Name + topic, Value: value, Headers: []kgo.RecordHeader{{Key: "rota", Value: sum}}}
		must.Succeed(t, admin(t, kgo.RecordPartitioner(kgo.ManualPartitioner())).ProduceSync(ctx, r).FirstErr())
	}
	_, err := s.Read(ctx, 0, 10)
	wantWords(t, err, kafka.ErrDamaged, "format 03", "newer version", o.Name+".log")
	_, err = openWith(t, o).Get(ctx, "a")
	wantWords(t, err, kafka.ErrDamaged, "format 03", "newer version", o.Name+".docs")
}

// TestGroupOfConsumers joins under the name of a group that belongs to consumers.
func TestGroupOfConsumers(t *testing.T) {
	t.Parallel()
	o, ctx := kafka.Options{Brokers: servers(t), Name: freshName(t)}, rig.LongDeadline(t)
	s := openWith(t, o)
	assigned := make(chan struct{}, 1)
	c := admin(t, kgo.ConsumerGroup(o.Name), kgo.ConsumeTopics(o.Name+".log"),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) {
			select {
			case assigned <- struct{}{}:
			default:
			}
		}))
	go c.PollFetches(ctx) // it is closed with the client
	select {
	case <-assigned:
	case <-ctx.Done():
		t.Fatal("the consumer got no partition")
	}
	_, err := s.JoinGroup(ctx, store.JoinRequest{Session: storetest.GroupSession, Rebalance: storetest.GroupRebalance})
	wantWords(t, err, store.ErrUnavailable, "is one of consumers", "try another name", o.Name)
}

// TestSessionOutsideLimits asks for a session that the brokers do not grant.
func TestSessionOutsideLimits(t *testing.T) {
	t.Parallel()
	s := place.Empty(t)(t)
	_, err := s.JoinGroup(rig.Deadline(t), store.JoinRequest{Session: 24 * time.Hour, Rebalance: time.Hour})
	wantWords(t, err, store.ErrUnavailable, "group.max.session.timeout.ms")
}

// secured starts a broker with users, and a listener for each way in. alice may do everything; bob and carol
// may do nothing.
func secured(t *testing.T) (c *server.Cluster, roots *x509.CertPool) {
	t.Helper()
	cert, key, client := rig.Certificate(t)
	path := filepath.Join(t.TempDir(), "server.pem")
	must.Succeed(t, os.WriteFile(path, []byte(key+cert), 0o600))
	const module = "org.apache.kafka.common.security."
	c = ownServers(t, server.Options{
		Listeners: []server.Listener{{Name: "SASL", Protocol: "SASL_PLAINTEXT"}, {Name: "TLS", Protocol: "SSL"}},
		Config: []string{
			"listener.name.sasl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
			"listener.name.sasl.plain.sasl.jaas.config=" + module +
				`plain.PlainLoginModule required user_alice="` + rig.Secret + `" user_bob="` + rig.Secret +
				`" user_carol="` + rig.Secret + `";`,
			"listener.name.sasl.scram-sha-256.sasl.jaas.config=" + module + "scram.ScramLoginModule required;",
			"listener.name.sasl.scram-sha-512.sasl.jaas.config=" + module + "scram.ScramLoginModule required;",
			"listener.name.tls.ssl.keystore.type=PEM", "listener.name.tls.ssl.keystore.location=" +
				filepath.ToSlash(path),
			"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users=User:ANONYMOUS;User:alice",
		},
	})
	for mechanism, h := range map[int8]func() hash.Hash{1: sha256.New, 2: sha512.New} {
		setPassword(t, c, mechanism, h, "alice", rig.Secret)
	}
	return c, client.RootCAs
}

func setPassword(t *testing.T, c *server.Cluster, mechanism int8, h func() hash.Hash, user, password string) {
	t.Helper()
	salted := must.Get(pbkdf2.Key(h, password, []byte("salt"), 4096, h().Size()))(t)
	one := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
	one.Name, one.Mechanism, one.Iterations, one.Salt, one.SaltedPassword = user, mechanism, 4096, []byte("salt"),
		salted
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	req.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{one}
	client := must.Get(c.Client())(t)
	defer client.Close()
	resp := must.Get(client.Request(rig.Deadline(t), req))(t)
	if err := kerr.ErrorForCode(resp.(*kmsg.AlterUserSCRAMCredentialsResponse).Results[0].ErrorCode); err != nil { //nolint:forcetypeassert // the answer to such a request
		t.Fatal(err)
	}
}

// letRead lets a user read the topics of a store, and nothing else.
func letRead(t *testing.T, c *server.Cluster, user, name string) {
	t.Helper()
	req := kmsg.NewPtrCreateACLsRequest()
	for _, may := range []kmsg.ACLOperation{kmsg.ACLOperationRead, kmsg.ACLOperationDescribeConfigs} {
		one := kmsg.NewCreateACLsRequestCreation()
		one.ResourceType, one.ResourceName = kmsg.ACLResourceTypeTopic, name
		one.ResourcePatternType = kmsg.ACLResourcePatternTypePrefixed
		one.Principal, one.Host, one.Operation = "User:"+user, "*", may
		one.PermissionType = kmsg.ACLPermissionTypeAllow
		req.Creations = append(req.Creations, one)
	}
	client := must.Get(c.Client())(t)
	defer client.Close()
	resp := must.Get(client.Request(rig.Deadline(t), req))(t)
	for _, r := range resp.(*kmsg.CreateACLsResponse).Results { //nolint:forcetypeassert // the answer to such a request
		must.Succeed(t, kerr.ErrorForCode(r.ErrorCode))
	}
}

func TestSecurity(t *testing.T) {
	t.Parallel()
	c, roots := secured(t)
	as := func(user, password, mechanism string) kafka.Options {
		return kafka.Options{Brokers: c.Listening(0), User: user, Password: password, Mechanism: mechanism,
			Name: freshName(t), Timeout: 5 * time.Second}
	}
	over := func(trusted *tls.Config) kafka.Options {
		return kafka.Options{Brokers: c.Listening(1), TLS: trusted, Name: freshName(t), Timeout: 5 * time.Second}
	}
	trusting := over(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	refused := map[string]rig.Refusal[kafka.Options]{
		"unknown authority": rig.Says(over(&tls.Config{MinVersion: tls.VersionTLS12}), store.ErrUnavailable,
			"certificate", "ca"),
		"plain text to TLS": rig.Says(over(nil), store.ErrUnavailable),
		"nobody's acl":      rig.Says(as("bob", rig.Secret, "plain"), store.ErrUnavailable, "kafka-acls.sh", "--topic"),
		"no user":           rig.Says(as("", "", ""), store.ErrUnavailable),
	}
	t.Run("ways in", func(t *testing.T) {
		t.Run("tls", func(t *testing.T) { t.Parallel(); use(t, trusting) })
		for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512", ""} {
			refused["wrong password, "+mechanism] = rig.Says(as("alice", rig.Secret+"!", mechanism),
				store.ErrUnavailable, "try")
			t.Run("mechanism "+mechanism, func(t *testing.T) {
				t.Parallel()
				use(t, as("alice", rig.Secret, mechanism))
			})
		}
		rig.Refusals(t, kafka.Open, refused)
	})
	t.Run("may only read", func(t *testing.T) {
		o := as("alice", rig.Secret, "plain")
		openWith(t, o)
		letRead(t, c, "carol", o.Name)
		o.User = "carol"
		rig.Refused(t, kafka.Open, o, store.ErrUnavailable, "may not do this", "kafka-acls.sh")
		o.ReadOnly = true
		openWith(t, o)
	})
}

// use does a little of everything.
func use(t *testing.T, o kafka.Options) {
	t.Helper()
	o.Timeout = 0 // as usual: a machine may be busy
	s, ctx := openWith(t, o), rig.Deadline(t)
	if _, err := s.Append(ctx, []byte("a")); err != nil {
		t.Error(err)
	}
	if _, err := s.Put(ctx, store.Doc{Key: "a"}); err != nil {
		t.Error(err)
	}
	if _, err := s.JoinGroup(ctx, store.JoinRequest{Session: time.Minute, Rebalance: time.Minute}); err != nil {
		t.Error(err)
	}
}
