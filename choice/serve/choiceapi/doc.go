// Package choiceapi is the JSON of the calls about tournaments and slates, as clients see it: the part of package
// service/api that is about them.
package choiceapi
