// want: has a float

package schedule

var x = 0.5
