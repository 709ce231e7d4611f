package main

import "os"

// stages are those of the proof, in their order: what fails fast comes first. Least amounts are fixed: the machine may be slow, and then the
// proof takes longer.
func stages() []stage {
	budget := os.Getenv("BUDGET")
	out := []stage{
		{name: "lint", dir: ".", command: []string{".ci/lint"}},
		{name: "vet", dir: "proof", command: []string{"go", "vet", "./..."}},
		{name: "race", dir: ".", command: goTest("-race", "./..."), tests: true, least: amounts{"passed": 1500}},
		{name: "fuzz", dir: ".", command: []string{".ci/fuzz", "20000x"}, least: amounts{"fuzzers": 20}},
		{name: "contrib", dir: ".", command: []string{".ci/modules"}, least: amounts{"modules": 2, "passed": 45}},
		{name: "servers", dir: "proof", command: goTest("-race", "-p", "3", "./..."), tests: true, rerun: true, least: serverAmounts()},
		{name: "suites", dir: ".", command: goTest("-tags", "proof", "-parallel", "16", "./store/storetest"), tests: true, rerun: true, least: amounts{"passed": 100}},
		{name: "models", dir: ".", command: goTest("-tags", "proof", "-run", "WithDeaths|Seconds", "./lock", "./call", "./store/doclog"), tests: true, least: amounts{"passed": 20}},
		{name: "doclog", dir: ".", command: goTest("-tags", "proof", "-run", "TestFlawsAreFound", "./store/doclog"), tests: true, least: amounts{"passed": 20}},
		{name: "logdocs", dir: ".", command: goTest("-tags", "proof", "-run", "TestFlawsAreFound", "./store/logdocs", "./store/memory"), tests: true, least: amounts{"passed": 36}},
		{name: "check", dir: ".", command: rotasim("check", "--suite", "push"), least: amounts{"complete": 1, "walks": 12, "states": 437_000}},
		{name: "sim", dir: ".", command: withBudget(rotasim("--protocol", "replica", "--seeds", "200", "--hours", "1", "--all-pairs"), budget), least: amounts{"seeds": 200, "cluster_hours": 200, "fault_kinds": 40}},
		{name: "mutants", dir: ".", command: rotasim("mutants"), least: amounts{"tried": 88, "killed": 88}},
	}
	for _, store := range []string{"file", "etcd", "kafka", "nats", "zookeeper"} {
		out = append(out, stage{
			name: "chaos-" + store, dir: "proof",
			command: []string{"go", "run", "./chaos", "--store", store, "--events", "100", "--json"}, least: amounts{"events": 100, "ok": 1},
		})
	}
	return out
}

// serverAmounts are those of the suites on each store: none may be left out on any of them.
func serverAmounts() amounts {
	out := amounts{"passed": 1000}
	for _, store := range []string{"etcd", "nats", "zookeeper"} {
		out["suites stores/"+store] = float64(len(suites) - 1) // without TestGroup
	}
	out["suites stores/kafka"] = float64(len(suites) - 1) // without TestSessions
	return out
}

func goTest(args ...string) []string {
	return append([]string{"go", "test", "-json", "-count=1", "-timeout", "15m"}, args...)
}

func rotasim(args ...string) []string {
	return append(append([]string{"go", "run", "./cmd/rotasim"}, args...), "--json")
}

// withBudget lets a command do more than its least amount for some time.
func withBudget(command []string, budget string) []string {
	if budget == "" {
		return command
	}
	return append(command, "--budget", budget)
}
