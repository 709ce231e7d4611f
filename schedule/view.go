package schedule

// Label is one key=value.
type Label struct{ Key, Value string }

// Member is a member in the placement.
type Member struct {
	ID       string
	Weight   int64 // its share; 0 means 100
	Capacity int64 // most items it may own; 0 means no limit
	Labels   []Label
	Draining bool
	// Load is the sum of the weights, and Count the number, of all items that it owns or that are moving to it,
	// movable or not.
	Load, Count int64
}

// Class is a kind of items that are equal for placement: the same rules and the same weight.
type Class struct {
	Key        string // canonical text; identifies and orders classes
	Weight     int64  // of each item; at least 1
	Selector   []Label
	Pin        string // the only member that may own it; "" for any
	SpreadOver string // label over whose values the items of this class are spread evenly; "" for none (otherwise Key includes the task)
}

// View is the input of placement; it never changes. Two views with equal content give equal plans, whatever the order in which they
// were built. Owned and Unplaced yield items sorted by ID.
type View interface {
	Members() []Member // sorted by ID
	Classes() []Class  // sorted by Key
	// Unplaced yields the items of class c that have no owner and may get one now.
	Unplaced(c int, yield func(item string) bool)
	// Owned yields the movable items of class c that member m owns (not in hand-over, not held).
	Owned(m, c int, yield func(item string) bool)
	// Count returns how many items of class c member m owns or is about to own, movable or not.
	Count(m, c int) int
}

// Move gives an item to a member. From is −1 for an item without an owner; To is −1 if its owner may no longer own it
// and no other member may.
type Move struct {
	Item     string
	Class    int
	From, To int // indexes into View.Members
}

// Plan is the result of placement.
type Plan struct {
	Moves []Move // sorted by item
	// Deferred is the number of wanted moves of owned items beyond the budget.
	Deferred int
}

// Sparse is a View that knows the classes of a member's items. Without it Place calls Count for every pair of member and class.
type Sparse interface {
	View
	// Present yields the classes of items that member m owns or is about to own, movable or not, each once in ascending order, with their
	// number.
	Present(m int, yield func(c, count int) bool)
}
