// want: has a float
// as: schedule/x.go

package schedule

var x float64
