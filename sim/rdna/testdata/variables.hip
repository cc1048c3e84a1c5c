// The source of corpus/variables.gfx1100.hsaco: device variables, a table of pointers (relocations), LDS.
typedef void (*fp)(int);
__attribute__((device)) int table[4]={1,2,3,4};
__attribute__((device)) int* ptrs[2]={table,table+2};
extern "C" __attribute__((global)) void k(int* p, int n, char c){ __attribute__((shared)) static int s[64]; s[n]=*ptrs[c]; __builtin_amdgcn_s_barrier(); *p=s[n+1]; }
