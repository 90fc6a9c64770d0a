// Package sframetest helps tests of SFrame: it compares tables with what readelf
// says of them ([Compare]), writes tables field by field ([Builder]), and damages
// them ([Mutation]).
//
// fetch-toolchains.sh brings the assemblers, linkers and readelfs of every
// generation; generate.sh builds with them what is kept in testdata folders, so
// that tests need neither.
package sframetest
