// Package sframetest helps tests of SFrame: it compares tables with readelf's
// output ([Compare]), writes tables field by field ([Builder]), and damages them
// ([Mutation]).
//
// fetch-toolchains.sh brings the assemblers, linkers and readelfs of every
// generation; generate.sh builds the files of the testdata folders with them,
// so that tests need neither.
package sframetest
