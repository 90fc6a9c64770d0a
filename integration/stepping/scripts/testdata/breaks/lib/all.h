#ifdef __cplusplus
extern "C" {
#endif
int everything(void);
int quick(int n);
int bare(int n);
#ifdef __cplusplus
}
#endif
