package main

import (
	"strings"
	"testing"
)

func TestMatrix(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	s := newSummary(&b)
	for _, e := range []event{
		{Action: "pass", Package: "m/store/etcd", Test: "TestDocs"},
		{Action: "pass", Package: "m/store/etcd", Test: "TestDocs/empty"},
		{Action: "fail", Package: "m/store/etcd", Test: "TestLog/trim"},
		{Action: "pass", Package: "m/store/etcd", Test: "TestDocsOfAnotherKind"},
		{Action: "skip", Package: "m/store/zookeeper", Test: "TestStoriesOfThree"},
		{Action: "pass", Package: "m/protocol/replica", Test: "TestStoriesOnFile/join"},
		{Action: "pass", Package: "m/protocol/replica", Test: "TestStoriesWithHeartbeatsAlone"},
		{Action: "pass", Package: "m/store/etcd/inner", Test: "TestDocs"},
		{Action: "pass", Package: "m/work", Test: "TestLog"},
	} {
		s.take(e)
	}
	s.close()
	want := `store      Docs  Log       Seed  Watch  LogWatch  Sessions  Faults  Stories
etcd       2 ok  1 FAILED  -     -      -         -         -       -
file       -     -         -     -      -         -         -       1 ok
zookeeper  -     -         -     -      -         -         -       1 not run
`
	if !strings.Contains(b.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
