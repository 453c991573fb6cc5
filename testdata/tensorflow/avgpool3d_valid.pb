
]
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:
y
	AvgPool3D	AvgPool3Dx0*
T0*
data_formatNDHWC*
ksize	
*
paddingVALID*
strides	

(
IdentityIdentity	AvgPool3D*
T0"ª