package laws

import (
	"fmt"
	"slices"
	"strings"
)

// vendors says who may import which foreign module: a vendor's client stays in the folder that is named after it, so that the packages in the
// middle build without it. Patterns are those of rules.
var vendors = []rule{
	{"github.com/cespare/xxhash/v2", []string{"cluster", "internal/schedule"}},
	{"github.com/goccy/go-yaml", []string{"source", "cmd/…", "rotacmd/internal/command/…", "internal/api"}},
	{"github.com/robfig/cron/v3", []string{"source", "internal/work/supervisor"}},
	{"github.com/fsnotify/fsnotify", []string{"internal/source/directory", "store/file", "tasks"}},
	{"github.com/gofrs/flock", []string{"store/file"}},
	{"modernc.org/sqlite", []string{"store/file"}},
	{"github.com/go-zookeeper/zk", []string{"store/zookeeper"}},
	{"go.etcd.io/etcd", []string{"store/etcd"}},
	{"go.uber.org/zap", []string{"store/etcd"}},                                                // etcd takes no other logger
	{"google.golang.org/grpc", []string{"store/etcd", "publish/otlpgrpc", "contrib/google/…"}}, // of etcd the codes of errors
	{"cloud.google.com/go", []string{"contrib/google/…"}},
	{"google.golang.org/api", []string{"contrib/google/…"}}, // options of those clients
	{"github.com/googleapis/gax-go/v2", []string{"contrib/google/…"}},
	{"github.com/nats-io", []string{"store/nats", "publish/*"}},
	{"github.com/jackc/pgx/v5", []string{"store/postgres"}},
	{"github.com/twmb/franz-go", []string{"store/kafka", "publish/*", "contrib/kafka/…"}},
	{"github.com/aws", []string{"contrib/aws/…"}},
	{"github.com/johannesboyne/gofakes3", []string{"contrib/aws/examples/…"}},
	{"github.com/elastic/elastic-transport-go", []string{"store/elastic", "publish/*"}},
	{"github.com/chromedp", nil}, // the proof alone
	{"github.com/pb33f", nil},
	{"go.opentelemetry.io/proto/otlp", nil},
	{"helm.sh/helm/v4", nil}, // the tests of deploy alone
	{"k8s.io/api", nil},
	{"sigs.k8s.io/yaml", nil},
	{"github.com/prometheus/prometheus", nil},
	{"github.com/prometheus/client_golang", []string{"internal/api", "cmd/…", "rotacmd/internal/command/…"}},
	{"github.com/prometheus/client_model", []string{"tasks", "internal/api"}},
	{"github.com/prometheus/common", []string{"tasks", "internal/api"}},
	{"cel.dev/cel-go", []string{"tasks"}},
	{"google.golang.org/protobuf", []string{"tasks", "publish/*", "publish/internal/*", "contrib/google/internal/*"}}, // values of expressions, bytes on the wire
	{"github.com/klauspost/compress", []string{"publish/*"}},
	{"github.com/shirou/gopsutil/v4", []string{"tasks"}},
	{"github.com/spf13", []string{"cmd/…", "rotacmd/internal/command/…"}},
	{"github.com/mattn/go-isatty", []string{"cmd/…", "rotacmd/internal/command/…"}},
	{"golang.org/x/term", []string{"cmd/…", "rotacmd/internal/command/…"}},
	{"golang.org/x/net", []string{"tasks", "internal/api"}},
	{"golang.org/x/sys", []string{"protocol", "work", "store/file", "tasks", "tasks/program", "internal/node", "node/guardian", "cmd/…", "rotacmd/internal/command/…", "rotacmd/internal/quiet"}},
	{"golang.org/x/sync", []string{"internal/node", "work", "internal/api", "cmd/…", "rotacmd/internal/command/…", "store/*"}},
	// Libraries for tests: only conformance suites are not tests themselves.
	{"github.com/anishathalye/porcupine", []string{"store/storetest", "protocol/protocoltest"}},
	{"github.com/cockroachdb/datadriven", nil},
	{"pgregory.net/rapid", []string{"store/storetest", "protocol/protocoltest"}},
	{"go.uber.org/goleak", []string{"store/storetest", "protocol/protocoltest"}},
}

// Vendors finds imports of foreign modules outside of the places that the table gives them. Tests and the proof may import all that is in the table.
func Vendors(f *File) []string {
	var out []string
	for _, imp := range f.AST.Imports {
		p := importPath(imp)
		if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") || p == Module || strings.HasPrefix(p, Module+"/") {
			continue
		}
		i := slices.IndexFunc(vendors, func(v rule) bool { return p == v.pattern || strings.HasPrefix(p, v.pattern+"/") })
		switch {
		case i < 0:
			out = append(out, fmt.Sprintf("%s: the module of %s is not in the table of proof/laws/vendors.go: add it, with who may use it", f.At(imp.Pos()), p))
		case !f.Test && !matches("proof/…", f.Dir) && !slices.ContainsFunc(vendors[i].allowed, func(a string) bool { return matches(a, f.Dir) }):
			out = append(out, fmt.Sprintf("%s: %s must not import %s (proof/laws/vendors.go)", f.At(imp.Pos()), f.Dir, p))
		}
	}
	return out
}
