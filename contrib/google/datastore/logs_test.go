package datastore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gds "cloud.google.com/go/datastore"

	"github.com/rota-run/rota/contrib/google/internal/emulator"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
)

func logs(t *testing.T, s emulator.Servers) {
	t.Setenv("DATASTORE_EMULATOR_HOST", s.Datastore())
	project := emulator.Project()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	l, err := OpenLogs(project)
	must.Succeed(t, err)
	defer l.(*Logs).Close()
	records := []journal.Record{
		{AtMS: 1, Kind: journal.RunError, Member: "a", Partition: "web", Message: "refused"},
		{AtMS: 2, Kind: journal.Moved, Partition: "web", From: "a", To: "b"},
		{AtMS: 3, Kind: journal.Malformed, Member: "b", Partition: "db", Message: "it is not JSON",
			Storage: &journal.Storage{
				Type: "datastore", Path: "datastore/db.json", Line: 2, Column: 5, Lines: []string{"1 │ {", "2 │ x"},
			}},
		{AtMS: 4, Kind: journal.Malformed, Partition: "x", Message: "it is empty",
			Storage: &journal.Storage{Type: "directory", Path: "x.yaml"}},
	}
	for range 2 { // the second time after a lost answer
		must.Succeed(t, l.Append(ctx, append(records, records[0])...))
	}
	client, err := gds.NewClient(ctx, project)
	must.Succeed(t, err)
	defer client.Close()
	var got []logEntry
	must.Succeed(t, must.Err(client.GetAll(ctx, gds.NewQuery("coalesce-logs").FilterField("timestamp", ">", 0), &got)))
	slices.SortFunc(got, func(a, b logEntry) int { return int(a.Timestamp - b.Timestamp) })
	want := []logEntry{
		{1, "web", "run-error", `{"type":"run-error","message":"refused","member":"a"}`},
		{3, "db", "malformed-task-error",
			`{"type":"malformed-task-error","message":"it is not JSON","member":"b","storage":{"type":"datastore","path":"datastore/db.json",` +
				`"location":{"line":2,"column":5},"line":["1 │ {","2 │ x"]}}`},
		{4, "x", "malformed-task-error",
			`{"type":"malformed-task-error","message":"it is empty","storage":{"type":"directory","path":"x.yaml"}}`},
	}
	if !slices.Equal(got, want) {
		t.Errorf("there is\n%+v, want\n%+v", got, want)
	}
	for _, field := range []string{"task_id", "type"} { // both are there to filter by
		value := map[string]string{"task_id": "db", "type": "malformed-task-error"}[field]
		n, err := client.GetAll(ctx, gds.NewQuery("coalesce-logs").FilterField(field, "=", value).KeysOnly(), nil)
		if err != nil || len(n) == 0 || len(n) == len(want) {
			t.Errorf("%s %s: %d entities, %v", field, value, len(n), err)
		}
	}
	if !strings.Contains(t.Name(), "firestore") {
		return // the others have no limits
	}
	err = l.Append(ctx, journal.Record{AtMS: 5, Kind: journal.RunError, Message: strings.Repeat("x", 1_200_000)})
	if !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a large record: %v", err)
	}
}

func logsOfAllTypes(t *testing.T, s emulator.Servers) {
	t.Setenv("DATASTORE_EMULATOR_HOST", s.Datastore())
	project := emulator.Project()
	l, err := OpenLogs("//" + project + "/blue?types=all&kind=history")
	must.Succeed(t, err)
	defer l.(*Logs).Close()
	gap := int64(7)
	must.Succeed(t, l.Append(t.Context(), journal.Record{AtMS: 2, Kind: journal.Moved, Partition: "web", From: "a",
		To: "b", Cause: "a left", GapMS: &gap}))
	client, err := gds.NewClient(t.Context(), project)
	must.Succeed(t, err)
	defer client.Close()
	var got []logEntry
	must.Succeed(t, must.Err(client.GetAll(t.Context(), gds.NewQuery("history").Namespace("blue"), &got)))
	if want := (logEntry{2, "web", "moved",
		`{"type":"moved","message":"","from":"a","to":"b","cause":"a left","gap_ms":7}`}); len(got) != 1 ||
		got[0] != want {
		t.Errorf("there is %+v, want %+v", got, want)
	}
}

func TestLogsAway(t *testing.T) {
	t.Setenv("DATASTORE_EMULATOR_HOST", "127.0.0.1:1")
	l, err := OpenLogs("p")
	must.Succeed(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // the client tries again until then
	defer cancel()
	err = l.Append(ctx, journal.Record{Kind: journal.RunError})
	if err == nil || !strings.Contains(err.Error(), "try: look whether") || errors.Is(err, store.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if _, err := OpenLogs("p?type=all"); err == nil ||
		!strings.Contains(err.Error(), "it takes database, kind, types") {
		t.Errorf("got %v", err)
	}
}
