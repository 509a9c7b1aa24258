// Package fetch brings files of object storage (s3://, gs://) and of web servers (https://) to a cache on this
// machine, where they are read and mapped as any other file.
//
// There are only a few types. A Cache is a folder of such files; a Set is what one name stands for: a file, the
// files of a folder, of a pattern or of a list, a prepared collection with what lies beside it, or a folder of
// vectors that change. Credentials and signatures are those of the libraries for the stores, minio-go and
// oauth2/google, which look where the stores' own tools look.
//
// # The cache
//
// Each version of a file, or of files that belong together, is an entry: a folder whose name is a digest of the URLs,
// their entity tags and sizes. So a file that changed is fetched to another entry, and one that did not is used again
// after a question about its tag. A process that fetches an entry holds its lock; others wait for it and find the
// files. Files have a name that ends in .part until all bytes are there, have been compared with the size and the
// checksum that the store states, and are flushed. A process that dies leaves parts, and the next continues them if
// the store still has the same version. An entry says from its beginning which URLs it is of, so that former versions can
// be removed, begun or whole.
//
// An entry notes the size, time and CRC-32C of each file that arrived. One whose size or time is another is compared when the
// entry is used next, and fetched again if its bytes differ; FetchAgain compares all of them after a file could not be read.
//
// The cache has no limit of its own. Evict brings it to one: each open Cache names the entries that it has fetched or found in a
// file that it holds locked, and others may go, those first that were used the longest ago. Any entry may be deleted by hand
// while nobody reads it.
package fetch
