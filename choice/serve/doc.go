// Package serve is duels and slates as extensions of the service: tournaments for many judges, in the
// service's database, and the tastes of users with the slates they were given, in a database of their own.
//
// [New] makes both. Their stores are in the packages tournaments and slates, the parts of openapi.yaml in the
// folder openapi, the files of the page on which tournaments are judged in the folder pages, and those of the page of slates in slatepages.
package serve
