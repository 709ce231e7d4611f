// want: has a float
// as: schedule/x.go

package schedule

var x = 0.5
