// Package command is the commands of duels and slates: duel finds the best of several alternatives by
// comparing two at a time, slate recommends diverse items and learns from rewards.
//
// The file of a verb is GROUP_VERB.go, and its parts are GROUP_NOUN.go. States are files: that of a
// tournament is a snapshot with a log of judgments, that of slates is replaced as a whole. What any command
// needs is in package cli.
package command
