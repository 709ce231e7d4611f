package emulator

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	pb "cloud.google.com/go/datastore/apiv1/datastorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// fake is a server of Datastore in memory.
type fake struct {
	pb.UnimplementedDatastoreServer
	mu       sync.Mutex
	entities map[string]*pb.Entity // by their keys as text
}

func startFake(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	pb.RegisterDatastoreServer(s, &fake{entities: make(map[string]*pb.Entity)})
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

// place is the partition of a project that a key is in.
func place(project string, p *pb.PartitionId) string {
	return project + "\x00" + p.GetNamespaceId() + "\x00"
}

func keyText(project string, k *pb.Key) string {
	out := place(project, k.GetPartitionId())
	for _, e := range k.GetPath() {
		out += e.Kind + "\x00" + e.String() + "\x00"
	}
	return out
}

// Lookup implements pb.DatastoreServer.
func (f *fake) Lookup(_ context.Context, r *pb.LookupRequest) (*pb.LookupResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &pb.LookupResponse{}
	for _, k := range r.Keys {
		if e, ok := f.entities[keyText(r.ProjectId, k)]; ok {
			out.Found = append(out.Found, &pb.EntityResult{Entity: proto.Clone(e).(*pb.Entity), Version: 1})
		} else {
			out.Missing = append(out.Missing, &pb.EntityResult{Entity: &pb.Entity{Key: k}, Version: 1})
		}
	}
	return out, nil
}

// Commit implements pb.DatastoreServer.
func (f *fake) Commit(_ context.Context, r *pb.CommitRequest) (*pb.CommitResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &pb.CommitResponse{}
	for _, m := range r.Mutations {
		result := &pb.MutationResult{Version: 1}
		switch op := m.Operation.(type) {
		case *pb.Mutation_Upsert:
			f.entities[keyText(r.ProjectId, op.Upsert.Key)] = op.Upsert
		case *pb.Mutation_Delete:
			delete(f.entities, keyText(r.ProjectId, op.Delete))
		default:
			return nil, status.Errorf(codes.Unimplemented, "the fake does not know %T", op)
		}
		out.MutationResults = append(out.MutationResults, result)
	}
	return out, nil
}

// RunQuery implements pb.DatastoreServer.
func (f *fake) RunQuery(_ context.Context, r *pb.RunQueryRequest) (*pb.RunQueryResponse, error) {
	q := r.GetQuery()
	if q == nil || len(q.Kind) != 1 || len(q.Order) > 0 || q.Limit != nil {
		return nil, status.Error(codes.Unimplemented, "the fake does not know such a query")
	}
	filters, err := filtersOf(q.Filter)
	if err != nil {
		return nil, err
	}
	keysOnly := len(q.Projection) > 0
	batch := &pb.QueryResultBatch{MoreResults: pb.QueryResultBatch_NO_MORE_RESULTS,
		EntityResultType: pb.EntityResult_FULL, EndCursor: []byte("end")}
	if keysOnly {
		batch.EntityResultType = pb.EntityResult_KEY_ONLY
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var keys []string
	for k, e := range f.entities {
		if path := e.Key.Path; strings.HasPrefix(k, place(r.ProjectId, r.PartitionId)) &&
			path[len(path)-1].Kind == q.Kind[0].Name &&
			!slices.ContainsFunc(filters, func(p *pb.PropertyFilter) bool { return !holds(p, e) }) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		e := proto.Clone(f.entities[k]).(*pb.Entity)
		if keysOnly {
			e = &pb.Entity{Key: e.Key}
		}
		batch.EntityResults = append(batch.EntityResults, &pb.EntityResult{Entity: e, Version: 1})
	}
	return &pb.RunQueryResponse{Batch: batch}, nil
}

// filtersOf are the filters that all have to hold.
func filtersOf(f *pb.Filter) ([]*pb.PropertyFilter, error) {
	switch {
	case f == nil:
		return nil, nil
	case f.GetPropertyFilter() != nil:
		return []*pb.PropertyFilter{f.GetPropertyFilter()}, nil
	case f.GetCompositeFilter().GetOp() == pb.CompositeFilter_AND:
		var out []*pb.PropertyFilter
		for _, inner := range f.GetCompositeFilter().Filters {
			some, err := filtersOf(inner)
			if err != nil {
				return nil, err
			}
			out = append(out, some...)
		}
		return out, nil
	}
	return nil, status.Error(codes.Unimplemented, "the fake does not know such a filter")
}

// holds reports whether a filter takes an entity: of a list one value is enough.
func holds(p *pb.PropertyFilter, e *pb.Entity) bool {
	v, ok := e.Properties[p.Property.Name]
	if !ok || v.ExcludeFromIndexes {
		return false
	}
	values := []*pb.Value{v}
	if list := v.GetArrayValue(); list != nil {
		values = list.Values
	}
	return slices.ContainsFunc(values, func(v *pb.Value) bool {
		switch p.Op {
		case pb.PropertyFilter_EQUAL:
			return v.GetStringValue() == p.Value.GetStringValue()
		case pb.PropertyFilter_GREATER_THAN:
			return v.GetIntegerValue() > p.Value.GetIntegerValue()
		}
		return false
	})
}
