package laws

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// rule says what of this module the packages that match a pattern may import.
//
// A pattern is a path from the root; "*" stands for one segment, and "…" at the end for the rest, also for nothing.
type rule struct {
	pattern string
	allowed []string
}

var (
	pure      = []string{"cluster", "internal/schedule", "internal/flow"}
	open      = []string{"cluster", "store", "protocol", "publish", "journal", "work"} // the contracts that users can import
	contracts = append([]string{"store", "protocol", "publish", "journal", "work", "internal/work/supervisor"}, pure...)
	shell     = append([]string{"call", "lock", "status", "source", "internal/source/*", "tasks", "tasks/*",
		"internal/api", "internal/view", "internal/node", "internal/operate", "protocol/*", "store/memory",
		"internal/work/stage"}, contracts...)
)

// rules is the direction of the house: cmd → node → {protocol, work, source, publish, journal} → store → pure packages.
// The first rule that matches holds. A package that no rule matches is a fault: say here where it stands.
var rules = []rule{
	{"internal/schedule", nil},
	{"internal/ordered", nil},
	{"cluster", []string{"internal/schedule", "internal/safetext", "internal/ordered"}},
	{"internal/flow", nil},

	{"store", nil},
	{"store/storetest", []string{"store", "internal/store/faults"}},
	{"store/driver", []string{"store"}},
	{"internal/store/driver/drivermap", []string{"store", "store/driver", "internal/ordered"}},
	{"store/driver/drivertest", []string{"store", "store/driver"}},
	{"internal/store/driver/lossy", []string{"store", "store/driver", "store/driver/drivertest",
		"internal/store/driver/drivermap"}},
	{"store/engine", []string{"store", "store/driver"}},
	{"store/engine/internal/adversary", []string{"store", "store/driver"}},
	{"store/engine/log", []string{"store", "store/driver", "store/engine", "store/internal/crowd"}},
	{"store/engine/full", []string{"store", "store/driver", "store/engine", "store/engine/log",
		"store/internal/driver", "store/internal/logqueue"}},
	{"store/etcd", []string{"internal/wait", "store", "store/driver", "store/engine/full", "store/engine/log",
		"store/internal/remote", "store/internal/driver"}},
	{"store/elastic", []string{"internal/wait", "store", "store/driver", "store/engine", "store/engine/full",
		"store/engine/log", "store/internal/remote", "store/internal/driver"}},
	{"store/zookeeper", []string{"store", "store/driver", "store/engine/full", "store/engine/log",
		"store/internal/driver", "store/internal/remote"}},
	{"store/file", []string{"store", "store/driver", "store/engine/full", "store/engine/log", "store/internal/crowd",
		"store/internal/driver"}},
	{"store/nats", []string{"store", "store/driver", "store/engine/full", "store/engine/log", "store/internal/driver",
		"store/internal/remote"}},
	{"store/postgres", []string{"internal/wait", "store", "store/driver", "store/engine/full", "store/engine/log",
		"store/internal/driver", "store/internal/remote"}},
	{"store/internal/driver", []string{"store"}},
	{"store/internal/remote", []string{"store"}},
	{"store/internal/crowd", nil},
	{"internal/store/gate", []string{"store"}},
	{"internal/store/faults", []string{"store", "internal/store/gate"}},
	{"internal/store/handle", []string{"store", "internal/store/gate"}},
	{"internal/store/refusal", []string{"store"}},
	{"store/kafka", []string{"store", "store/driver", "store/engine", "store/engine/full", "store/engine/log",
		"store/internal/driver", "store/internal/fold", "store/internal/remote"}},
	{"store/memory", []string{"store", "store/driver", "internal/store/driver/drivermap", "store/engine/full",
		"store/engine/log"}},
	{"store/internal/fold", []string{"store", "store/driver", "store/engine", "store/engine/log",
		"store/internal/driver", "internal/ordered"}},
	{"store/internal/logqueue", []string{"store", "store/internal/driver", "internal/ordered"}},
	{"store/*", []string{"store", "internal/flow", "store/internal/crowd", "store/internal/driver"}}, // a vendor's folder is a leaf

	{"journal", []string{"store", "internal/safetext", "internal/wait"}},
	{"lock", []string{"cluster", "store", "protocol", "internal/protocol/heartbeat", "internal/protocol/beat"}},
	{"lock/fence", []string{"cluster"}},
	{"lock/locktest", []string{"cluster", "store", "lock", "protocol"}},
	{"status", []string{"cluster", "store", "internal/wait"}},
	{"publish", []string{"internal/wait"}},
	{"publish/internal/post", []string{"publish"}},
	{"publish/internal/otlpwire", []string{"publish"}},
	{"publish/internal/wiretest", []string{"publish/internal/otlpwire"}},
	{"publish/*", []string{"publish", "publish/internal/post", "publish/internal/otlpwire",
		"publish/internal/wiretest"}},
	{"protocol", []string{"cluster", "store"}},
	{"protocol/protocoltest", []string{"cluster", "store", "protocol", "store/memory", "store/storetest",
		"internal/store/faults"}},
	{"internal/protocol/heartbeat", []string{"store", "protocol"}},
	{"internal/protocol/outbox", []string{"cluster", "store", "protocol"}},
	{"internal/protocol/duty", []string{"cluster", "protocol", "internal/protocol/member"}},
	{"internal/protocol/fold", []string{"cluster", "store", "protocol", "internal/protocol/duty",
		"internal/protocol/outbox", "internal/protocol/member", "internal/protocol/shell"}},
	{"internal/protocol/beat", []string{"cluster", "store", "protocol", "internal/protocol/heartbeat",
		"internal/protocol/member", "internal/protocol/outbox"}},
	{"internal/protocol/elect", []string{"store", "protocol", "internal/protocol/heartbeat"}},
	{"internal/protocol/shell", []string{"cluster", "store", "protocol", "internal/protocol/heartbeat",
		"internal/protocol/outbox", "internal/protocol/beat", "internal/protocol/member"}},
	{"internal/protocol/member", []string{"cluster", "store", "protocol", "internal/protocol/heartbeat",
		"internal/protocol/outbox"}},
	{"internal/protocol/*", []string{"cluster", "store", "protocol", "internal/protocol/heartbeat",
		"internal/protocol/elect", "internal/protocol/outbox", "internal/protocol/fold", "internal/protocol/beat",
		"internal/protocol/duty", "internal/protocol/member", "internal/protocol/shell", "internal/ordered"}}, // protocols do not know each other
	{"protocol/*", []string{"internal/protocol/*"}}, // what users choose: a name for what is below internal
	{"work", []string{"cluster", "publish", "internal/wait"}},
	{"internal/work/supervisor", []string{"cluster", "internal/flow", "store", "protocol", "publish", "journal", "work",
		"internal/safetext", "internal/usercode", "internal/wait"}},
	{"internal/work/stage", []string{"internal/flow", "store", "work", "internal/work/supervisor",
		"internal/usercode"}},
	{"work/worktest", []string{"cluster", "store", "publish", "work"}},
	{"call", []string{"cluster", "store", "protocol", "journal", "work", "internal/safetext", "internal/wait",
		"internal/usercode"}},
	{"tasks", []string{"cluster", "internal/flow", "protocol", "publish", "work", "internal/work/stage",
		"tasks/program", "internal/safetext"}},
	{"tasks/program", nil},
	{"source", []string{"cluster", "internal/flow", "internal/schedule", "journal", "work", "internal/work/supervisor",
		"internal/safetext"}},
	{"internal/source/directory", []string{"cluster", "journal", "store", "work", "source"}},
	{"internal/node/guarding", nil},
	{"node/guardian", []string{"store", "internal/protocol/heartbeat", "tasks/program", "internal/node/guarding"}},
	{"internal/node", append([]string{"call", "source", "internal/source/directory", "internal/protocol/heartbeat",
		"internal/safetext", "internal/wait"}, contracts...)},
	{"internal/operate", append([]string{"internal/node", "internal/source/directory", "internal/work/stage"},
		contracts...)},
	{"internal/view", append([]string{"call", "source", "internal/node", "internal/source/directory"}, contracts...)},
	{"internal/api", append([]string{"internal/api/page", "internal/operate", "internal/view", "internal/node",
		"source", "internal/work/stage"}, contracts...)},
	{"internal/api/page", nil},

	{".", append([]string{"internal/protocol/replica"}, shell...)}, // the default
	{"rotatest", append([]string{".", "internal/store/handle"}, shell...)},
	{"proof/sim/machine/*", append([]string{"internal/protocol/*", "proof/sim/…"}, contracts...)},
	{"proof/sim/machine", append([]string{"internal/protocol/beat", "internal/protocol/heartbeat",
		"internal/protocol/member", "internal/protocol/shell"}, contracts...)}, // what all protocols share
	{"proof/sim/…", append([]string{"proof/sim/…", "internal/proof/check", "store/memory", "internal/node/guarding",
		"internal/protocol/heartbeat", "internal/protocol/member", "internal/protocol/outbox"},
		contracts...)}, // it knows no protocol
	{"proof/history", contracts},
	{"rotacmd/stores", []string{"store", "store/*", "rotacmd/internal/storeurl", "internal/safetext"}},
	{"rotacmd", []string{".", "journal", "store", "rotacmd/stores", "rotacmd/internal/command"}},
	{"rotacmd/internal/command/…", []string{"…"}}, // the command rota
	{"rotacmd/internal/*", nil},
	{"cmd/…", []string{"…"}},
	{"examples/…", []string{"…"}},
	{"contrib/*/examples/*", append([]string{".", "protocol/*", "store/*", "contrib/…"}, open...)}, // a user chooses the protocol
	{"contrib/*/rota-*", []string{"rotacmd", "contrib/…"}},                                         // a binary with all of the command and more
	// A module of its own uses what everybody can use: the compiler would let it have internal packages.
	{"contrib/…", append([]string{".", "store/*", "contrib/…"}, open...)},
	{"deploy", nil},
	{"proof/…", []string{"…"}},
	{"internal/proof/values", []string{"cluster", "internal/proof/must"}},
	{"internal/proof/flows", []string{"cluster", "store", "internal/work/supervisor", "internal/proof/must"}},
	{"internal/proof/mutant/mutanttest",
		[]string{"internal/proof/check", "internal/proof/mutant", "internal/proof/must"}},
	{"internal/…", nil}, // tools of the house know nothing of the product
}

func matches(pattern, dir string) bool {
	if base, ok := strings.CutSuffix(pattern, "…"); ok {
		return base == "" || strings.HasPrefix(dir+"/", base)
	}
	ok, err := path.Match(pattern, dir)
	return ok && err == nil
}

func ruleFor(dir string) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return matches(r.pattern, dir) })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

// Imports finds arrows that point the wrong way. Tests may import what they like.
func Imports(f *File) []string {
	if f.Test {
		return nil
	}
	r, ok := ruleFor(f.Dir)
	if !ok {
		return []string{fmt.Sprintf("%s: no rule says what package %s may import: add it to the table in proof/laws/imports.go", f.Path, f.Dir)}
	}
	var out []string
	for _, imp := range f.AST.Imports {
		dir, ours := ourDir(importPath(imp))
		if !ours || dir == f.Dir {
			continue
		}
		if !slices.ContainsFunc(r.allowed, func(p string) bool { return matches(p, dir) }) {
			out = append(out, fmt.Sprintf("%s: %s must not import %s (the arrows are in proof/laws/imports.go)",
				f.At(imp.Pos()), f.Dir, dir))
		}
	}
	return out
}

// ourDir is the folder of a package of this module.
func ourDir(importPath string) (dir string, ours bool) {
	if importPath == Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, Module+"/")
}

// FloorTable says on which floor each room stands: one line a floor, its number and its rooms. docs/internals/house.md
// shows it.
//
//go:embed floors.txt
var FloorTable string

// Floors finds rooms without a floor, and imports of other rooms that do not go down. So no circle of rooms is
// possible. Tests may import what they like.
func Floors(f *File) []string {
	if f.Test {
		return nil
	}
	from := roomOf(f.Dir)
	floor, ok := floorOf(from)
	if !ok {
		return []string{fmt.Sprintf("%s: no floor is known for the room %s: add it to proof/laws/floors.txt and to docs/internals/house.md", f.Path, from)}
	}
	var out []string
	for _, imp := range f.AST.Imports {
		dir, ours := ourDir(importPath(imp))
		to := roomOf(dir)
		if !ours || to == from {
			continue
		}
		if below, _ := floorOf(to); below >= floor {
			out = append(out, fmt.Sprintf("%s: %s (floor %d) must not import %s (floor %d): an import goes down (proof/laws/floors.txt)", f.At(imp.Pos()), from, floor, to, below))
		}
	}
	return out
}

// roomOf is the room of a folder: the folder at the top of the tree, except for what the root and the command have
// elsewhere, and what rooms have below internal, where the proof can import it and users can't.
func roomOf(dir string) string {
	top, rest, _ := strings.Cut(dir, "/")
	if top == "internal" {
		room, _, _ := strings.Cut(rest, "/")
		if _, ok := floorOf(room); ok {
			return room
		}
	}
	switch {
	case dir == ".":
		return "rota"
	case top == "cmd":
		return "rotacmd"
	default:
		return top
	}
}

// floorOf is where a room stands. A room that has no floor stands above all others, so that nothing may import it.
func floorOf(room string) (floor int, ok bool) {
	for line := range strings.Lines(FloorTable) {
		words := strings.Fields(line)
		for _, r := range words[2:] {
			if r == room {
				floor, err := strconv.Atoi(words[1])
				return floor, err == nil
			}
		}
	}
	return 1 << 10, false
}

// vendors says who may import which foreign module: a vendor's client stays in the folder that is named after it, so
// that the packages in the middle build without it. Patterns are those of rules.
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
	{"github.com/getkin/kin-openapi", nil},
	{"go.opentelemetry.io/proto/otlp", nil},
	{"golang.org/x/tools", nil},
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
	{"golang.org/x/sys", []string{"protocol", "work", "store/file", "tasks", "tasks/program", "internal/node",
		"node/guardian", "cmd/…", "rotacmd/internal/command/…", "rotacmd/internal/logging"}},
	{"golang.org/x/sync", []string{"internal/node", "work", "internal/api", "cmd/…", "rotacmd/internal/command/…",
		"store/*"}},
	// Libraries for tests: only conformance suites are not tests themselves.
	{"github.com/anishathalye/porcupine", []string{"store/storetest", "protocol/protocoltest"}},
	{"github.com/cockroachdb/datadriven", nil},
	{"pgregory.net/rapid", []string{"store/storetest", "protocol/protocoltest"}},
	{"go.uber.org/goleak", []string{"store/storetest", "protocol/protocoltest"}},
}

// Vendors finds imports of foreign modules outside of the places that the table gives them. Tests and the proof may
// import all that is in the table.
func Vendors(f *File) []string {
	var out []string
	for _, imp := range f.AST.Imports {
		p := importPath(imp)
		if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") || p == Module ||
			strings.HasPrefix(p, Module+"/") {
			continue
		}
		i := slices.IndexFunc(vendors,
			func(v rule) bool { return p == v.pattern || strings.HasPrefix(p, v.pattern+"/") })
		switch {
		case i < 0:
			out = append(out, fmt.Sprintf("%s: the module of %s is not in the table of proof/laws/imports.go: add it, with who may use it", f.At(imp.Pos()), p))
		case !f.Test && !matches("proof/…", f.Dir) &&
			!slices.ContainsFunc(vendors[i].allowed, func(a string) bool { return matches(a, f.Dir) }):
			out = append(out, fmt.Sprintf("%s: %s must not import %s (proof/laws/imports.go)", f.At(imp.Pos()), f.Dir,
				p))
		}
	}
	return out
}
