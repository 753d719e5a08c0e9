"""OCL401: which reads may meet another work-group, as bodies of one kernel (see kernel_expectations.HEAD)."""

from __future__ import annotations

import pytest
from kernel_expectations import HEAD, check

BODIES = {
    "minus1": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g-1]; // expect: OCL401
""",
    "plus stride": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g+n]; // expect: OCL401
""",
    "reversed": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[n-1-g]; // expect: OCL401
""",
    "reversed gsz": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[get_global_size(0)-1-g]; // expect: OCL401
""",
    "modulo": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[(g+1)%n]; // expect: OCL401
""",
    "clamp": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[min(g+1,n-1)]; // expect: OCL401
""",
    "ternary": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g>0?g-1:0]; // expect: OCL401
""",
    "table": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[idx[g]]; // expect: OCL401
""",
    "scatter": """
    v[idx[g]]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g]; // expect: OCL401
""",
    "first": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[0]; // expect: OCL401
""",
    "sum by 0": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if(g==0){float s=0; for(int i=0;i<n;i++)
    s+=v[i]; // expect: OCL401
    w[0]=s;}
""",
    "partials": """
    v[grp]=l[0];
    barrier(CLK_GLOBAL_MEM_FENCE);
    if(g==0){float s=0; for(int i=0;i<get_num_groups(0);i++)
    s+=v[i]; // expect: OCL401
    w[0]=s;}
""",
    "partials lid": """
    if(l0==0) v[grp]=l[0];
    barrier(CLK_GLOBAL_MEM_FENCE);
    if(grp==0){ w[l0]=
    v[l0]; // expect: OCL401
    }
""",
    "tree": """
    for(int s=n/2;s>0;s>>=1){ if(g<s)
    v[g]+=v[g+s]; // expect: OCL401
    barrier(CLK_GLOBAL_MEM_FENCE);
    }
""",
    "tree local": """
    for(int s=ls/2;s>0;s>>=1){ if(l0<s)
    v[g]+=v[g+s];
    barrier(CLK_GLOBAL_MEM_FENCE);
    }
""",
    "scan": """
    for(int o=1;o<n;o*=2){ float t=0; if(g>=o)
    t=v[g-o]; // expect: OCL401
    barrier(CLK_GLOBAL_MEM_FENCE);
    v[g]+=t;
    barrier(CLK_GLOBAL_MEM_FENCE);
    }
""",
    "mem_fence": """
    v[g]=1;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g+1]; // expect: OCL401
""",
    "init by one": """
    if(g==0) v[0]=0;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[0]; // expect: OCL401
""",
    "init by one not": """
    if(!g) v[0]=0;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[0]; // expect: OCL401
""",
    "own slice": """
    __global float*p=v+grp*64; p[l0]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=p[63-l0];
""",
    "own slice2": """
    v[grp*ls+l0]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[grp*ls+(ls-1-l0)];
""",
    "own tile xor": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[grp*ls+(l0^1)];
""",
    "guard lid": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if(l0>0) w[g]=v[g-1];
""",
    "guard lid ternary": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]= l0>0 ? v[g-1] : 0;
""",
    "local only": """
    v[g]=1;
    barrier(CLK_LOCAL_MEM_FENCE);
    w[g]=v[g+1];
""",
    "other buffer": """
    w[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]+=v[g+1];
""",
    "same": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g];
""",
    "grid stride": """
    for(int i=g;i<n;i+=get_global_size(0)) v[i]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for(int i=g;i<n;i+=get_global_size(0)) w[i]=v[i];
""",
    "grid stride bad": """
    for(int i=g;i<n;i+=get_global_size(0)) v[i]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for(int i=g;i<n;i+=get_global_size(0))
    w[i]=v[i+1]; // expect: OCL401
""",
    "single group": """
    v[l0]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[l0]=v[l0+1];
""",
    "last block": """
    if(l0==0) v[grp]=1; mem_fence(CLK_GLOBAL_MEM_FENCE); __local int last;
    if(l0==0) last = atomic_inc((volatile __global int*)w)==get_num_groups(0)-1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if(last) for(int i=0;i<get_num_groups(0);i++) l[i]=v[i];
""",
    "stencil2d": """
    int x=get_global_id(0),y=get_global_id(1); v[y*n+x]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[y*n+x]=
    v[(y+1)*n+x]; // expect: OCL401
""",
    "row per item": """
    for(int j=0;j<n;j++) v[g*n+j]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    float s=0; for(int j=0;j<n;j++) s+=v[g*n+j]; w[g]=s;
""",
    "row next": """
    for(int j=0;j<n;j++) v[g*n+j]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    float s=0; for(int j=0;j<n;j++)
    s+=v[(g+1)*n+j]; // expect: OCL401
    w[g]=s;
""",
    "pingpong": """
    __global float*a=v; __global float*b=w; for(int t=0;t<n;t++){
    b[g]=a[g-1]+a[g+1]; // expect: OCL401
    barrier(CLK_GLOBAL_MEM_FENCE);
    __global float*q=a;a=b;b=q;}
""",
    "prev group": """
    v[grp]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[grp-1]; // expect: OCL401
""",
    "bitonic": """
    for(int j=n;j>0;j>>=1){ int p=g^j; float a=v[g];
    float b=v[p]; // expect: OCL401
    barrier(CLK_GLOBAL_MEM_FENCE);
    v[g]=min(a,b);
    barrier(CLK_GLOBAL_MEM_FENCE);
    }
""",
    "WAR": """
    float t=v[g+1]; // expect: OCL401
    barrier(CLK_GLOBAL_MEM_FENCE);
    v[g]=t;
""",
    "exclusive": """
    if(m){ v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    } else { w[g]=v[g+1]; }
""",
    "spin": """
    if(g==0) v[0]=1;
    while(v[0]==0); // expect: OCL401
    w[g]=1;
""",
    "spin prev": """
    if(l0==0){
    while(v[grp-1]==0) {} // expect: OCL401
    v[grp]=1; }
""",
    "spin do": """
    float x; if(g==0) v[0]=1; do {
    x=v[0]; // expect: OCL401
    } while(x==0);
""",
    "spin break": """
    v[g]=1; while(1){ mem_fence(CLK_GLOBAL_MEM_FENCE);
    if(v[n]!=0) break; // expect: OCL401
    }
""",
    "spin own": """
    if(l0==0) v[grp]=1; while(v[grp]==0);
""",
    "spin atomic": """
    while(atomic_add((volatile __global int*)v,0)==0); if(g==0) atomic_inc((volatile __global int*)v);
""",
    "no spin": """
    int i=0; while(i < v[0]) { i++; } v[g]=i;
""",
    "list walk": """
    int i=g; while(idx[i]>=0) i=idx[i]; v[i]=1;
""",
    "two elements": """
    v[2*g]=1; v[2*g+1]=2;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[2*g+1];
""",
    "two elements bad": """
    v[2*g]=1; v[2*g+1]=2;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[2*g+2]; // expect: OCL401
""",
    "vload": """
    vstore4((float4)(1),g,v);
    barrier(CLK_GLOBAL_MEM_FENCE);
    float4 q=vload4(g+1,v); // expect: OCL401
""",
    "vload own": """
    vstore4((float4)(1),g,v);
    barrier(CLK_GLOBAL_MEM_FENCE);
    float4 q=vload4(g,v);
""",
    "device scope": """
    v[g]=1;
    work_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_device);
    w[g]=v[g+1]; // expect: OCL401
""",
    "alias": """
    __global float *p=v+g; *p=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=p[-1]; // expect: OCL401
""",
    "direct": """
    v[get_group_id(0)*get_local_size(0)+get_local_id(0)]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[get_group_id(0)*get_local_size(0)+get_local_id(0)+1]; // expect: OCL401
""",
    "software barrier": """
    atomic_inc((__global int*)v);
    while(v[0]<get_num_groups(0)) // expect: OCL401
    barrier(CLK_GLOBAL_MEM_FENCE);
""",
    "transpose": """
    int x=get_global_id(0),y=get_global_id(1); v[y*n+x]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[y*n+x]=v[x*n+y]; // expect: OCL401
""",
    "lid reversed": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g-l0+(ls-1-l0)];
""",
    "slice loop": """
    for(int i=l0;i<m;i+=ls) v[grp*m+i]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for(int i=0;i<m;i++) w[g]+=v[grp*m+i];
""",
    "one group guard": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if(get_num_groups(0)==1) w[g]=v[g+1];
""",
    "one group guard2": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if(get_local_size(0)==get_global_size(0)) { for(int i=0;i<n;i++) w[g]+=v[i]; }
""",
    "modulo guard": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if(g%ls!=0) w[g]=v[g-1];
""",
    "return lid": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if(l0!=0) return; float s=0; for(int i=0;i<ls;i++) s+=v[grp*ls+i]; w[grp]=s;
""",
    "histogram": """
    atomic_inc((__global int*)&v[idx[g]]);
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g];
""",
    "next group slice": """
    v[grp*m+l0]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[(grp+1)*m+l0]; // expect: OCL401
""",
    "copy out": """
    __local float t[64]; t[l0]=v[g];  barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=t[63-l0]; v[g]=0;
""",
    "read only other": """
    float a=v[g+1];  barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=a;
""",
    "swap rows": """
    __local float old[256], most[256]; int from=idx[0];
    old[l0]=v[n*m+g]; most[l0]=v[n*from+g];
    barrier(CLK_GLOBAL_MEM_FENCE);
    if(from!=m) { v[n*from+g]=old[l0]; v[n*m+g]=most[l0]; }
""",
    "time levels": """
    for(int t=1;t<m;t++) { v[t*n+g]=2*v[(t-1)*n+g];
    barrier(CLK_GLOBAL_MEM_FENCE); }
""",
    "next level": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g+n*m];
""",
    "row of the range": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g+(n-m)*get_global_size(0)];
""",
    "rows that the items number too": """
    int h=get_global_id(1); if(h<n) v[h*m+g]=v[(h+idx[0])*m+g]; // expect: OCL401
    barrier(CLK_GLOBAL_MEM_FENCE);
    v[(h+n)*m+g]=w[h*m+g];
""",
    "groups further": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g+n*ls]; // expect: OCL401
""",
    "neighbour at the level before": """
    for(int t=1;t<m;t++) { v[t*n+g]=2*v[(t-1)*n+g-1]; // expect: OCL401
    barrier(CLK_GLOBAL_MEM_FENCE); }
""",
    "two distances": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g+n-m]; // expect: OCL401
""",
    "rows and one": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g+n*m+1]; // expect: OCL401
""",
    "swap neighbours": """
    v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    w[g]=v[g^1];
""",
}

WHOLE = {
    "helper read": """
    float nb(__global float*v,int i){
    return v[i-1]; // expect: OCL401
    }
    __kernel void k(__global float*v,__global float*w){ int g=get_global_id(0); v[g]=1;
    barrier(CLK_GLOBAL_MEM_FENCE); w[g]=nb(v,g);}
""",
}


@pytest.mark.parametrize("name", BODIES)
def test_body(name: str) -> None:
    check(HEAD + BODIES[name] + "}\n")


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name: str) -> None:
    check(WHOLE[name])
