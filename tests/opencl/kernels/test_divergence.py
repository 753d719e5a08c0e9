"""OCL402: which barriers are not reached by all work-items."""

from __future__ import annotations

import pytest
from kernel_expectations import HEAD, check

BODIES = {
    "early return": """
    if(g>=n) return; l[l0]=1;
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    v[g]=l[0];
""",
    "if lid": """
    if(l0<n) {
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    }
""",
    "uniform": """
    if(n>3) { barrier(CLK_LOCAL_MEM_FENCE); }  if(grp<m) { barrier(CLK_LOCAL_MEM_FENCE); } for(int i=0;i<n;
    i++) barrier(CLK_LOCAL_MEM_FENCE);
""",
    "the group shares a row": """
    int row=get_global_id(1); if(g>=n || row>=m) return; for(int i=l0;i<n;i+=64) l[l0]+=v[row*n+i];
    barrier(CLK_LOCAL_MEM_FENCE); if(l0==0) w[row]=l[0];
""",
    "the group shares a row of vectors": """
    int2 at=(int2)(get_global_id(0),get_global_id(1)); if(at.x<n && at.y<m) {
    float4 s=0; for(int i=l0;i<n/4;i+=64) s+=vload4(i,v+at.y*n); l[l0]=s.x;
    barrier(CLK_LOCAL_MEM_FENCE); if(l0==0) w[at.y]=l[0]; }
""",
    "each work-item has its own element": """
    int row=get_global_id(1); if(g>=n || row>=m) return; l[l0]=v[row*n+g];
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    w[row]=l[0];
""",
    "each group has its own block": """
    if(g>=n) return; l[l0]=v[grp*64+l0];
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    w[grp]=l[0];
""",
    "no id is negative": """
    bool c=g>=0; while(c) { barrier(CLK_LOCAL_MEM_FENCE); if(idx[0]) break; } if(0<=l0) barrier(CLK_LOCAL_MEM_FENCE);
    if(l0<0) return; barrier(CLK_LOCAL_MEM_FENCE);
""",
    "an id is positive": """
    if(l0>0) {
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    }
""",
    "loop lid": """
    for(int i=0;i<l0;i++)
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
""",
    "loop stride const": """
    for(int i=l0;i<256;i+=64) barrier(CLK_LOCAL_MEM_FENCE);
""",
    "loop stride ls": """
    for(int i=l0;i<4*ls;i+=ls) barrier(CLK_LOCAL_MEM_FENCE);
""",
    "data": """
    if(idx[g]) {
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    }
""",
    "data uniform": """
    if(idx[grp]) { barrier(CLK_LOCAL_MEM_FENCE); } for(int i=idx[grp];i<idx[grp+1];
    i++) barrier(CLK_LOCAL_MEM_FENCE);
""",
    "break lid": """
    for(int i=0;i<n;i++){ if(l0==i) break;
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    }
""",
    "local flag": """
    __local int done; if(l0==0) done=v[g]>3; barrier(CLK_LOCAL_MEM_FENCE); if(done) {
    barrier(CLK_LOCAL_MEM_FENCE); }
""",
    "reassigned": """
    int c=0; if(l0==0) c=1; if(c) {
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    }
""",
    "row": """
    int row=get_global_id(1); if(row>=n) return; l[l0]=1; barrier(CLK_LOCAL_MEM_FENCE);
""",
    "div": """
    int row=g/64; if(row>=n) return; l[l0]=1; barrier(CLK_LOCAL_MEM_FENCE);
""",
    "div ls": """
    int row=g/ls; if(row>=n) return; l[l0]=1; barrier(CLK_LOCAL_MEM_FENCE);
""",
    "tree lds": """
    for(int s=ls/2;s>0;s>>=1){ if(l0<s) l[l0]+=l[l0+s]; barrier(CLK_LOCAL_MEM_FENCE);}
""",
    "switch": """
    switch(l0){ case 0:
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    break; default: break;}
""",
    "always true": """
    if(l0<get_local_size(0)) barrier(CLK_LOCAL_MEM_FENCE);
    if (g<get_global_size(0)) barrier(CLK_LOCAL_MEM_FENCE);
""",
    "continue": """
    for(int i=0;i<n;i++){ if(l0==i) continue;
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    }
""",
    "tree bad": """
    for(int s=1;s<ls;s*=2){ if(l0%(2*s)==0){ l[l0]+=l[l0+s];
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    }}
""",
    "group switch": """
    switch(grp){case 0: barrier(CLK_LOCAL_MEM_FENCE); break; default: break;}
""",
    "tile cond": """
    if(l[0]>1) barrier(CLK_LOCAL_MEM_FENCE);
""",
    "tile cond lid": """
    if(l[l0]>1)
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
""",
    "size cond": """
    if(ls>64) barrier(CLK_LOCAL_MEM_FENCE); while(n-->0) barrier(CLK_LOCAL_MEM_FENCE);
""",
    "ternary flag": """
    int active = g<n ? 1 : 0; if(active)
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
""",
    "vote": """
    if(work_group_any(l0<n)) barrier(CLK_LOCAL_MEM_FENCE);
""",
    "private array": """
    int a[4]; for(int i=0;i<4;i++) a[i]=n+i; if(a[1]) barrier(CLK_LOCAL_MEM_FENCE); a[2]=l0; if(a[2])
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
""",
}

WHOLE = {
    "reqd": """
    __kernel __attribute__((reqd_work_group_size(1,1,1))) void k(__global int*v,int n){
    if(get_global_id(0)>=n) return; barrier(CLK_GLOBAL_MEM_FENCE);
    if(get_local_id(0)==0) barrier(CLK_LOCAL_MEM_FENCE);}
""",
    "reqd64": """
    __kernel __attribute__((reqd_work_group_size(64,1,1))) void k(__global int*v,int n){
    if(get_local_id(0)<64) barrier(CLK_GLOBAL_MEM_FENCE); if(get_local_id(1)==0) barrier(CLK_LOCAL_MEM_FENCE);}
""",
    "helper": """
    void sync(void){ barrier(CLK_LOCAL_MEM_FENCE);}
    __kernel void k(__global int*v,int n){ if(get_local_id(0)==0)
    sync(); // expect: OCL402
    sync();}
""",
    "helper uniform": """
    void red(__local float*l){ for(int s=get_local_size(0)/2;s>0;s>>=1){
    if(get_local_id(0)<s) l[get_local_id(0)]+=l[get_local_id(0)+s]; barrier(CLK_LOCAL_MEM_FENCE);} }
    __kernel void k(__local float*l,int n){ if(n) red(l); red(l);}
""",
    "do while": """
    __kernel void k(__global float*v,__local int*l){ int g=get_global_id(0); int c=0; do {
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    c++; } while(v[g]>c);}
""",
    "macro": """
    #define SYNC barrier(CLK_LOCAL_MEM_FENCE)
    __kernel void k(__global float*v,int n){ if(get_local_id(0)<n) {
    SYNC; // expect: OCL402
    }}
""",
    "ret in helper": """
    int f(int x){ if(x>3) return 1; return 0;}
    __kernel void k(int n,__local int*l){ if(f(n)) barrier(CLK_LOCAL_MEM_FENCE); if(f(get_local_id(0)))
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    }
""",
    "vec": """
    __kernel void k(__global int*v,int n){ int2 p=(int2)(get_global_id(0),get_group_id(0));
    if(p.y>n) barrier(CLK_LOCAL_MEM_FENCE); if(p.x>n)
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    }
""",
    "out ptr": """
    void ids(int *a,int *b){*a=get_local_id(0);*b=get_group_id(0);}
    __kernel void k(int n){ int a,b; ids(&a,&b); if(b>n) barrier(CLK_LOCAL_MEM_FENCE); if(a>n)
    barrier(CLK_LOCAL_MEM_FENCE); // expect: OCL402
    }
""",
}


@pytest.mark.parametrize("name", BODIES)
def test_body(name: str) -> None:
    check(HEAD + BODIES[name] + "}\n")


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name: str) -> None:
    check(WHOLE[name])
