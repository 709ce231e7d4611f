package schedule

// Label is one key=value.
type Label struct{ Key, Value string }

// Member is a member as placement sees it.
type Member struct {
	ID       string
	Weight   int64 // its share; 0 means 100
	Capacity int64 // most items it may own; 0 means no limit
	Labels   []Label
	Draining bool
	// Load is the sum of the weights, and Count the number, of all items that it owns or that are on their way to it,
	// whether they may be moved or not.
	Load, Count int64
}

// Class is a kind of items that are alike for placement: the same rules and the same weight.
type Class struct {
	Key        string // canonical text; classes are told apart and ordered by it
	Weight     int64  // of each item; at least 1
	Selector   []Label
	Pin        string // the only member that may own it; "" for any
	SpreadOver string // label over whose values the items of this class are spread evenly; "" for none (then Key includes the task)
}

// View is what placement reads; it never changes. Two views with the same content give the same plan, whatever the order in which they
// were built. Owned and Unplaced yield items sorted by ID.
type View interface {
	Members() []Member // sorted by ID
	Classes() []Class  // sorted by Key
	// Unplaced yields the items of class c that have no owner and may have one now.
	Unplaced(c int, yield func(item string) bool)
	// Owned yields the items of class c that member m owns and that may be moved now (not in hand-over, not held).
	Owned(m, c int, yield func(item string) bool)
	// Count is how many items of class c member m owns or is about to own, movable or not.
	Count(m, c int) int
}

// Move gives an item to a member. From is −1 for an item without an owner; To is −1 when its owner may no longer have it
// and nobody else may.
type Move struct {
	Item     string
	Class    int
	From, To int // indexes into View.Members
}

// Plan is what placement wants.
type Plan struct {
	Moves []Move // sorted by item
	// Deferred is how many more moves of owned items it wants than the budget allows.
	Deferred int
}

// Sparse is a View that knows which classes a member has items of. Without it Place asks Count for every pair of member and class.
type Sparse interface {
	View
	// Present yields the classes of which member m owns or is about to own items, movable or not, each once in ascending order, and how
	// many.
	Present(m int, yield func(c, count int) bool)
}
