package serve

import (
	"thresher/service/catalog"
	"thresher/service/extension"
)

// CatalogOf returns the collections of the server of slates.
func CatalogOf(x extension.Extension) *catalog.Catalog { return x.(*Slates).catalog }
