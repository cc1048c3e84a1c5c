// The source of corpus/loop.gfx1100.hsaco: a loop with loads and an IEEE division.
extern "C" __attribute__((global)) void k(float* p, int n){ int i=__builtin_amdgcn_workitem_id_x(); float a=0; for(int j=0;j<n;j++) a=a*p[i+j]+p[i]; p[i]=a; if(i<5) p[i+1]=a/3;}
