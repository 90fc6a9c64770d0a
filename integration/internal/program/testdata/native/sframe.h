// Included before everything else where native code shall have SFrame tables and
// no call-frame information besides.
#ifdef __ASSEMBLER__
.cfi_sections .sframe
#else
__asm__(".cfi_sections .sframe");
#endif
